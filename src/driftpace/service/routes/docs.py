"""The API documentation: a page generated from the OpenAPI description, without scripts from other hosts."""

import json
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, Response

from driftpace.service.dashboard.routes import PAGE_HEADERS
from driftpace.service.templating import render

router = APIRouter(include_in_schema=False)

_STREAMS = ("text/event-stream", "application/gzip")
_KEYWORDS = {
    "minimum": "≥ {}",
    "exclusiveMinimum": "> {}",
    "maximum": "≤ {}",
    "exclusiveMaximum": "< {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
}


@dataclass(frozen=True, slots=True)
class _Type:
    """The type of a value as text; ``schema`` names the schema it refers to."""

    text: str
    schema: str | None = None


@router.get("/api/docs")
async def api_docs(request: Request) -> Response:
    """Return the API documentation."""
    description = request.app.openapi()
    text = render(
        "api_docs.html",
        request,
        api_version=description["info"]["version"],
        groups=_groups(description),
        schemas=_schemas(description),
    )
    return HTMLResponse(text, headers=PAGE_HEADERS)


def _groups(description: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the operations by tag, in the order of the description."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for path, operations in description["paths"].items():
        for method, operation in operations.items():
            groups.setdefault(operation["tags"][0], []).append(_operation(description, path, method.upper(), operation))
    return [{"name": name, "operations": operations} for name, operations in groups.items()]


def _operation(description: dict[str, Any], path: str, method: str, operation: dict[str, Any]) -> dict[str, Any]:
    content = operation.get("requestBody", {}).get("content", {})
    responses = [
        {"status": status, "type": _response_type(response), "description": response.get("description", "")}
        for status, response in operation["responses"].items()
    ]
    streams = any(media in _STREAMS for media in operation["responses"].get("200", {}).get("content", {}))
    summary, _, details = operation.get("description", "").partition("\n\n")
    example = _example(description, content.get("application/json", {}).get("schema", {}))
    return {
        "id": operation["operationId"],
        "path": path,
        "method": method,
        "summary": summary,
        "description": details.strip(),
        "parameters": [
            {
                "name": parameter["name"],
                "location": parameter["in"],
                "required": parameter.get("required", False),
                "type": _type(parameter["schema"]),
                "description": parameter.get("description", ""),
            }
            for parameter in operation.get("parameters", [])
        ],
        "bodies": [
            {"media": media, "type": _type(body["schema"]), "binary": body["schema"].get("format") == "binary"}
            for media, body in content.items()
            if media != "multipart/form-data"
        ],
        "responses": responses,
        "can_try": not streams and "/hooks/" not in path,
        "example": example,
    }


def _response_type(response: dict[str, Any]) -> _Type:
    for media, body in response.get("content", {}).items():
        return _type(body["schema"]) if media == "application/json" else _Type(media)
    return _Type("")


def _schemas(description: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "description": schema.get("description", ""),
            "fields": [
                {"name": field, "type": _type(value), "required": field in schema.get("required", ())}
                for field, value in schema.get("properties", {}).items()
            ],
        }
        for name, schema in sorted(description["components"]["schemas"].items())
    ]


def _type(schema: dict[str, Any]) -> _Type:
    """Return the type of a JSON schema as text.

    >>> _type({"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}]}).text
    'integer (≥ 1) or null'
    >>> _type({"type": "array", "items": {"$ref": "#/components/schemas/Order"}})
    _Type(text='array of Order', schema='Order')
    """
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return _Type(name, name)
    if "anyOf" in schema:
        parts = [_type(part) for part in schema["anyOf"]]
        text = " or ".join(dict.fromkeys(part.text for part in parts))
        return _Type(text, next((part.schema for part in parts if part.schema), None))
    if "enum" in schema or "const" in schema:
        values = schema.get("enum", [schema.get("const")])
        return _Type(" | ".join(json.dumps(value) for value in values))
    if schema.get("type") == "array":
        items = _type(schema.get("items", {}))
        return _Type(f"array of {items.text}", items.schema)
    limits = [text.format(schema[keyword]) for keyword, text in _KEYWORDS.items() if keyword in schema]
    base = schema.get("format") or schema.get("type") or "any"
    return _Type(f"{base} ({', '.join(limits)})" if limits else str(base))


def _example(description: dict[str, Any], schema: dict[str, Any]) -> str:
    """Return a JSON body with the required fields of an object schema, "" for other bodies."""
    if "$ref" not in schema:
        return ""
    model = description["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    placeholders: dict[str, Any] = {
        "string": "",
        "integer": 0,
        "number": 0.0,
        "boolean": False,
        "array": [],
        "object": {},
    }
    fields = {}
    for name in model.get("required", ()):
        value = model["properties"][name]
        value = value["anyOf"][0] if "anyOf" in value else value
        fields[name] = placeholders.get(value.get("type"))
    return json.dumps(fields)
