"""What it costs to send a parcel."""


def shipping(weight_kg):
    """Five for a parcel of up to two kilograms, nine for a heavier one."""
    return 5 if weight_kg <= 2 else 9
