"""Learning which program is fast: models, losses, metrics, studies."""
