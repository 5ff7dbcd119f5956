__all__ = ["__version__", "finding_codes"]

__version__: str

def finding_codes() -> list[tuple[int, str]]: ...
