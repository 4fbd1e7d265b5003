"""The dashboard: server-rendered pages of campaigns."""
