/** Made by `npm run docs` from the schema of receipts. Change that one. */

import type { Form } from "./form.ts";

export const receiptForm: Form = {
  "type": "object",
  "required": [
    "schema",
    "receipt_id",
    "subject",
    "issuer",
    "issued_at",
    "identifiers",
    "lifecycle",
    "trust",
    "autonomy_budget",
    "replay_input",
    "model_route",
    "cost",
    "side_effects",
    "final_artifacts",
    "chain"
  ],
  "properties": {
    "schema": {
      "type": "string",
      "const": "receipt-2026-04-25"
    },
    "receipt_id": {
      "type": "string",
      "minLength": 1
    },
    "subject": {
      "type": "object",
      "required": [
        "object",
        "id"
      ],
      "properties": {
        "object": {
          "enum": [
            "task",
            "outcome",
            "event",
            "artifact",
            "approval",
            "tool_call",
            "replay_segment"
          ]
        },
        "id": {
          "type": "string",
          "minLength": 1
        }
      },
      "additionalProperties": false
    },
    "issuer": {
      "type": "object",
      "required": [
        "id",
        "kind"
      ],
      "properties": {
        "id": {
          "type": "string",
          "minLength": 1
        },
        "kind": {
          "enum": [
            "harness",
            "host",
            "agent",
            "connector"
          ]
        },
        "name": {
          "type": "string",
          "minLength": 1
        },
        "version": {
          "type": "string",
          "minLength": 1
        },
        "public_key_id": {
          "type": "string",
          "minLength": 1
        }
      },
      "additionalProperties": false
    },
    "issued_at": {
      "type": "string",
      "format": "date-time",
      "pattern": "^\\d{4}-\\d{2}-\\d{2}[Tt]\\d{2}:\\d{2}:\\d{2}(\\.\\d+)?([Zz]|[+-]\\d{2}:\\d{2})$"
    },
    "identifiers": {
      "type": "object",
      "required": [
        "workspace_ref",
        "session_id",
        "task_id"
      ],
      "properties": {
        "tenant_id": {
          "type": "string",
          "minLength": 1
        },
        "persona_ref": {
          "type": "string",
          "minLength": 1
        },
        "workspace_ref": {
          "type": "string",
          "minLength": 1
        },
        "session_id": {
          "type": "string",
          "minLength": 1
        },
        "task_id": {
          "type": "string",
          "minLength": 1
        },
        "branch_id": {
          "type": "string",
          "minLength": 1
        },
        "trace_id": {
          "type": "string",
          "minLength": 1
        }
      },
      "additionalProperties": false
    },
    "lifecycle": {
      "type": "object",
      "required": [
        "started_at",
        "completed_at",
        "final_state"
      ],
      "properties": {
        "created_at": {
          "type": "string",
          "format": "date-time",
          "pattern": "^\\d{4}-\\d{2}-\\d{2}[Tt]\\d{2}:\\d{2}:\\d{2}(\\.\\d+)?([Zz]|[+-]\\d{2}:\\d{2})$"
        },
        "started_at": {
          "type": "string",
          "format": "date-time",
          "pattern": "^\\d{4}-\\d{2}-\\d{2}[Tt]\\d{2}:\\d{2}:\\d{2}(\\.\\d+)?([Zz]|[+-]\\d{2}:\\d{2})$"
        },
        "completed_at": {
          "type": "string",
          "format": "date-time",
          "pattern": "^\\d{4}-\\d{2}-\\d{2}[Tt]\\d{2}:\\d{2}:\\d{2}(\\.\\d+)?([Zz]|[+-]\\d{2}:\\d{2})$"
        },
        "final_state": {
          "enum": [
            "SUCCEEDED",
            "FAILED",
            "CANCELED"
          ]
        },
        "failure": {
          "anyOf": [
            {
              "type": "object",
              "properties": {}
            },
            {
              "type": "null"
            }
          ]
        }
      },
      "additionalProperties": false
    },
    "approvals": {
      "type": "array",
      "items": {
        "type": "object",
        "required": [
          "actor",
          "action",
          "decision",
          "decided_at"
        ],
        "properties": {
          "approval_id": {
            "type": "string",
            "minLength": 1
          },
          "actor": {
            "type": "string",
            "minLength": 1
          },
          "action": {
            "type": "string",
            "minLength": 1
          },
          "decision": {
            "enum": [
              "approved",
              "denied",
              "canceled",
              "timeout"
            ]
          },
          "decided_at": {
            "type": "string",
            "format": "date-time",
            "pattern": "^\\d{4}-\\d{2}-\\d{2}[Tt]\\d{2}:\\d{2}:\\d{2}(\\.\\d+)?([Zz]|[+-]\\d{2}:\\d{2})$"
          },
          "quorum_proof": {
            "anyOf": [
              {
                "type": "object",
                "properties": {}
              },
              {
                "type": "null"
              }
            ]
          },
          "evidence_hash": {
            "type": "string",
            "pattern": "^sha256:[0-9a-f]{64}$"
          }
        },
        "additionalProperties": false
      }
    },
    "trust": {
      "type": "object",
      "required": [
        "start_tier",
        "end_tier"
      ],
      "properties": {
        "start_tier": {
          "enum": [
            "shadow",
            "suggest",
            "act_with_approval",
            "act_auto"
          ]
        },
        "end_tier": {
          "enum": [
            "shadow",
            "suggest",
            "act_with_approval",
            "act_auto"
          ]
        },
        "policy_ref": {
          "type": "string",
          "minLength": 1
        }
      },
      "additionalProperties": false
    },
    "autonomy_budget": {
      "type": "object",
      "required": [
        "consumed"
      ],
      "properties": {
        "limit": {
          "type": "object",
          "properties": {
            "usd": {
              "type": "number",
              "minimum": 0
            },
            "input_tokens": {
              "type": "integer",
              "minimum": 0
            },
            "output_tokens": {
              "type": "integer",
              "minimum": 0
            },
            "tool_calls": {
              "type": "integer",
              "minimum": 0
            },
            "wall_time_ms": {
              "type": "integer",
              "minimum": 0
            }
          },
          "additionalProperties": false
        },
        "consumed": {
          "type": "object",
          "properties": {
            "usd": {
              "type": "number",
              "minimum": 0
            },
            "input_tokens": {
              "type": "integer",
              "minimum": 0
            },
            "output_tokens": {
              "type": "integer",
              "minimum": 0
            },
            "tool_calls": {
              "type": "integer",
              "minimum": 0
            },
            "wall_time_ms": {
              "type": "integer",
              "minimum": 0
            }
          },
          "additionalProperties": false
        }
      },
      "additionalProperties": false
    },
    "replay_input": {
      "type": "object",
      "required": [
        "determinism",
        "materials"
      ],
      "properties": {
        "determinism": {
          "enum": [
            "byte_deterministic",
            "best_effort",
            "unavailable"
          ]
        },
        "materials": {
          "type": "array",
          "items": {
            "type": "object",
            "required": [
              "kind"
            ],
            "properties": {
              "kind": {
                "enum": [
                  "llm_provider_response",
                  "mcp_tool_return",
                  "event_log",
                  "artifact",
                  "host_fact"
                ]
              },
              "id": {
                "type": "string",
                "minLength": 1
              },
              "uri": {
                "type": "string",
                "minLength": 1
              },
              "sha256": {
                "type": "string",
                "pattern": "^sha256:[0-9a-f]{64}$"
              },
              "content_type": {
                "type": "string",
                "minLength": 1
              },
              "bytes_base64": {
                "type": "string",
                "minLength": 1
              },
              "metadata": {
                "type": "object",
                "properties": {}
              }
            },
            "additionalProperties": false,
            "anyOf": [
              {
                "required": [
                  "uri",
                  "sha256"
                ]
              },
              {
                "required": [
                  "bytes_base64",
                  "sha256"
                ]
              },
              {
                "required": [
                  "metadata"
                ]
              }
            ]
          }
        },
        "unavailable_reason": {
          "type": "string",
          "minLength": 1
        }
      },
      "additionalProperties": false
    },
    "model_route": {
      "type": "object",
      "required": [
        "chosen_model",
        "alternatives_considered",
        "route_policy_reason"
      ],
      "properties": {
        "chosen_model": {
          "type": "object",
          "required": [
            "provider",
            "model"
          ],
          "properties": {
            "provider": {
              "type": "string",
              "minLength": 1
            },
            "model": {
              "type": "string",
              "minLength": 1
            },
            "version": {
              "type": "string",
              "minLength": 1
            },
            "reason": {
              "type": "string",
              "minLength": 1
            }
          },
          "additionalProperties": false
        },
        "alternatives_considered": {
          "type": "array",
          "items": {
            "type": "object",
            "required": [
              "provider",
              "model"
            ],
            "properties": {
              "provider": {
                "type": "string",
                "minLength": 1
              },
              "model": {
                "type": "string",
                "minLength": 1
              },
              "version": {
                "type": "string",
                "minLength": 1
              },
              "reason": {
                "type": "string",
                "minLength": 1
              }
            },
            "additionalProperties": false
          }
        },
        "route_policy_reason": {
          "type": "string",
          "minLength": 1
        }
      },
      "additionalProperties": false
    },
    "cost": {
      "type": "object",
      "required": [
        "currency",
        "total",
        "provider_breakdown"
      ],
      "properties": {
        "currency": {
          "type": "string",
          "pattern": "^[A-Z]{3}$"
        },
        "total": {
          "type": "number",
          "minimum": 0
        },
        "provider_breakdown": {
          "type": "array",
          "items": {
            "type": "object",
            "required": [
              "provider",
              "amount"
            ],
            "properties": {
              "provider": {
                "type": "string",
                "minLength": 1
              },
              "model": {
                "type": "string",
                "minLength": 1
              },
              "amount": {
                "type": "number",
                "minimum": 0
              },
              "input_tokens": {
                "type": "integer",
                "minimum": 0
              },
              "output_tokens": {
                "type": "integer",
                "minimum": 0
              },
              "metadata": {
                "type": "object",
                "properties": {}
              }
            },
            "additionalProperties": false
          }
        }
      },
      "additionalProperties": false
    },
    "side_effects": {
      "type": "object",
      "required": [
        "fs_writes",
        "network_egress",
        "tool_calls",
        "a2a_handoffs"
      ],
      "properties": {
        "fs_writes": {
          "type": "array",
          "items": {
            "type": "object",
            "required": [
              "path",
              "operation"
            ],
            "properties": {
              "path": {
                "type": "string",
                "minLength": 1
              },
              "operation": {
                "enum": [
                  "create",
                  "modify",
                  "delete",
                  "rename"
                ]
              },
              "before_sha256": {
                "anyOf": [
                  {
                    "type": "string",
                    "pattern": "^sha256:[0-9a-f]{64}$"
                  },
                  {
                    "type": "null"
                  }
                ]
              },
              "after_sha256": {
                "anyOf": [
                  {
                    "type": "string",
                    "pattern": "^sha256:[0-9a-f]{64}$"
                  },
                  {
                    "type": "null"
                  }
                ]
              }
            },
            "additionalProperties": false
          }
        },
        "network_egress": {
          "type": "array",
          "items": {
            "type": "object",
            "required": [
              "destination",
              "purpose"
            ],
            "properties": {
              "destination": {
                "type": "string",
                "minLength": 1
              },
              "purpose": {
                "type": "string",
                "minLength": 1
              },
              "bytes_sent": {
                "type": "integer",
                "minimum": 0
              },
              "metadata": {
                "type": "object",
                "properties": {}
              }
            },
            "additionalProperties": false
          }
        },
        "tool_calls": {
          "type": "array",
          "items": {
            "type": "object",
            "required": [
              "tool",
              "call_id",
              "status"
            ],
            "properties": {
              "tool": {
                "type": "string",
                "minLength": 1
              },
              "call_id": {
                "type": "string",
                "minLength": 1
              },
              "status": {
                "enum": [
                  "succeeded",
                  "failed",
                  "canceled"
                ]
              },
              "input_hash": {
                "type": "string",
                "pattern": "^sha256:[0-9a-f]{64}$"
              },
              "output_hash": {
                "type": "string",
                "pattern": "^sha256:[0-9a-f]{64}$"
              },
              "metadata": {
                "type": "object",
                "properties": {}
              }
            },
            "additionalProperties": false
          }
        },
        "a2a_handoffs": {
          "type": "array",
          "items": {
            "type": "object",
            "required": [
              "target_agent",
              "task_id",
              "status"
            ],
            "properties": {
              "target_agent": {
                "type": "string",
                "minLength": 1
              },
              "task_id": {
                "type": "string",
                "minLength": 1
              },
              "status": {
                "enum": [
                  "accepted",
                  "rejected",
                  "failed",
                  "completed"
                ]
              },
              "receipt_id": {
                "type": "string",
                "minLength": 1
              }
            },
            "additionalProperties": false
          }
        }
      },
      "additionalProperties": false
    },
    "final_artifacts": {
      "type": "array",
      "items": {
        "type": "object",
        "required": [
          "artifact_id",
          "kind"
        ],
        "properties": {
          "artifact_id": {
            "type": "string",
            "minLength": 1
          },
          "kind": {
            "type": "string",
            "minLength": 1
          },
          "uri": {
            "type": "string",
            "minLength": 1
          },
          "sha256": {
            "type": "string",
            "pattern": "^sha256:[0-9a-f]{64}$"
          }
        },
        "additionalProperties": false
      }
    },
    "deltas": {
      "type": "array",
      "items": {
        "type": "object",
        "required": [
          "operation",
          "path"
        ],
        "properties": {
          "delta_id": {
            "type": "string",
            "minLength": 1
          },
          "operation": {
            "enum": [
              "add",
              "replace",
              "remove"
            ]
          },
          "path": {
            "type": "string",
            "minLength": 1
          },
          "override_key": {
            "type": "string",
            "minLength": 1
          },
          "event_id": {
            "type": "string",
            "minLength": 1
          },
          "before_sha256": {
            "anyOf": [
              {
                "type": "string",
                "pattern": "^sha256:[0-9a-f]{64}$"
              },
              {
                "type": "null"
              }
            ]
          },
          "after_sha256": {
            "anyOf": [
              {
                "type": "string",
                "pattern": "^sha256:[0-9a-f]{64}$"
              },
              {
                "type": "null"
              }
            ]
          },
          "artifact_id": {
            "type": "string",
            "minLength": 1
          },
          "reason": {
            "type": "string",
            "minLength": 1
          }
        },
        "additionalProperties": false
      }
    },
    "chain": {
      "type": "object",
      "required": [
        "previous_receipt_hash",
        "receipt_hash"
      ],
      "properties": {
        "previous_receipt_hash": {
          "anyOf": [
            {
              "type": "string",
              "pattern": "^sha256:[0-9a-f]{64}$"
            },
            {
              "type": "null"
            }
          ]
        },
        "receipt_hash": {
          "type": "string",
          "pattern": "^sha256:[0-9a-f]{64}$"
        },
        "merkle_root": {
          "type": "string",
          "pattern": "^sha256:[0-9a-f]{64}$"
        }
      },
      "additionalProperties": false
    },
    "redactions": {
      "type": "array",
      "items": {
        "type": "object",
        "required": [
          "field",
          "reason"
        ],
        "properties": {
          "field": {
            "type": "string",
            "minLength": 1
          },
          "reason": {
            "type": "string",
            "minLength": 1
          },
          "proof_hash": {
            "type": "string",
            "pattern": "^sha256:[0-9a-f]{64}$"
          }
        },
        "additionalProperties": false
      }
    },
    "signatures": {
      "type": "array",
      "items": {
        "type": "object",
        "required": [
          "key_id",
          "algorithm",
          "signature"
        ],
        "properties": {
          "key_id": {
            "type": "string",
            "minLength": 1
          },
          "algorithm": {
            "type": "string",
            "minLength": 1
          },
          "signature": {
            "type": "string",
            "minLength": 1
          },
          "signed_at": {
            "type": "string",
            "format": "date-time",
            "pattern": "^\\d{4}-\\d{2}-\\d{2}[Tt]\\d{2}:\\d{2}:\\d{2}(\\.\\d+)?([Zz]|[+-]\\d{2}:\\d{2})$"
          }
        },
        "additionalProperties": false
      }
    },
    "metadata": {
      "type": "object",
      "properties": {}
    }
  },
  "additionalProperties": false
};
