//! What differs between machines: tiling, chips, compiler releases, memory spaces.
