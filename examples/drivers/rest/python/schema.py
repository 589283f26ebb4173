"""What the driver is given, and what it returns. Purlin does what the schemas say: it validates inputs,
fills in defaults, keeps secrets, and decides which changes replace. So there is no `check`, and no
`update_impact`."""

INPUTS = {
    "type": "object",
    "required": ["values", "connection"],
    "properties": {
        "values": {
            "type": "object",
            "required": ["name"],
            "additionalProperties": False,
            "properties": {
                "name": {
                    "type": "string",
                    "pattern": "^[a-z0-9][a-z0-9-]{0,62}$",
                    "description": "The project's name. Another name is another project.",
                    "x-purlin-replaces": True,
                },
                "region": {
                    "type": "string",
                    "enum": ["eu", "us"],
                    "default": "eu",
                    "description": "Where the project is. It cannot move.",
                    "x-purlin-immutable": True,
                },
                "size": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": 1000,
                    "default": 1,
                    "description": "How many seats it has.",
                },
            },
        },
        # How to reach the API: always the current way, also in `read` and `delete`.
        "connection": {
            "type": "object",
            "required": ["server", "token"],
            "additionalProperties": False,
            "properties": {
                "server": {
                    "type": "string",
                    "pattern": "^https?://[^/?#]+(/[^?#]*)?$",
                    "description": "Where the API is, such as `https://api.example/v1`.",
                    "x-purlin-replaces": True,
                },
                "token": {
                    "type": "string",
                    "minLength": 1,
                    "writeOnly": True,
                    "description": "The token that the API asks for.",
                },
            },
        },
    },
}

OUTPUTS = {
    "type": "object",
    "required": ["id", "name", "region", "size"],
    "additionalProperties": False,
    "properties": {
        "id": {"type": "string", "description": "The project's id in the API."},
        "name": {"type": "string"},
        "region": {"type": "string"},
        "size": {"type": "integer"},
        "token": {
            "type": "string",
            "writeOnly": True,
            "description": "The project's own token, which the API shows only once.",
            "x-purlin-write-once": True,
        },
    },
}
