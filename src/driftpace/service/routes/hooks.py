"""Hooks: what labelling tools send by themselves."""

from fastapi import APIRouter

router = APIRouter(prefix="/api/hooks", tags=["hooks"])
