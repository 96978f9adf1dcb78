"""One file per GGUF type: how its bytes lie, and what each weight is worth."""
