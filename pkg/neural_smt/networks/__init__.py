"""Neural networks over word ids; they know nothing of phrase tables."""
