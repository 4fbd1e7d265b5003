"""Access control: who may call the service, with which token or session."""
