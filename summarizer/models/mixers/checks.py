"""Checks of a mixer's options, each a ValueError that names the option, its value and what is valid."""


def check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    """Raise unless `value` is one of the choices."""
    if value not in choices:
        raise ValueError(f"{name}='{value}'; choose from {', '.join(choices)}")


def check_at_least(least: int, **options: int) -> None:
    """Raise unless every option has at least this value."""
    for name, value in options.items():
        if value < least:
            raise ValueError(f"{name}={value} must be at least {least}")


def check_window(**options: int) -> None:
    """Raise unless every window has a half on each side."""
    for name, value in options.items():
        if value < 2 or value % 2:
            raise ValueError(f"{name}={value} must be even and at least 2")
