"""The web page of a store of campaigns: what needs doing today, one campaign with its order and its ledger, and what-if."""
