"""Pictures and pages of scores, records and programs."""
