"""Write the golden files anew: only when FORMAT or METHOD of driftpace.storage.codec changes."""

from tests.storage.golden.cases import write

if __name__ == "__main__":
    write()
