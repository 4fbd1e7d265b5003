"""Pydantic models of what the service accepts and returns."""
