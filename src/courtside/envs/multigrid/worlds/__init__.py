"""The worlds: each a frozen dataclass of rules, a layout drawn from a key and the judging at the end of a step."""
