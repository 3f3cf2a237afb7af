"""Cost models that learn which program is fast: models, losses, metrics, studies."""

__all__: list[str] = []
