//! The element type of an array.

macro_rules! element_types {
    ($($variant:ident $text:literal $bits:literal),+ $(,)?) => {
        /// The element type of an array. `Token` and `Opaque` are types without data.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        #[allow(missing_docs, reason = "each variant is the type of that name")]
        pub enum ElementType {
            $($variant),+
        }

        impl ElementType {
            /// Every element type.
            pub const ALL: &'static [ElementType] = &[$(ElementType::$variant),+];

            /// The type as HLO text spells it.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(ElementType::$variant => $text),+
                }
            }

            /// Bits of data in an element (`pred` 1; token and opaque 0). What an element takes in
            /// memory is the business of a target.
            pub const fn bits(self) -> u64 {
                match self {
                    $(ElementType::$variant => $bits),+
                }
            }

            /// The type that HLO text spells so, if there is one. Lower case only.
            pub fn from_text(text: &str) -> Option<ElementType> {
                match text {
                    $($text => Some(ElementType::$variant),)+
                    _ => None,
                }
            }
        }
    };
}

element_types! {
    Pred "pred" 1,
    S1 "s1" 1,
    S2 "s2" 2,
    S4 "s4" 4,
    S8 "s8" 8,
    S16 "s16" 16,
    S32 "s32" 32,
    S64 "s64" 64,
    U1 "u1" 1,
    U2 "u2" 2,
    U4 "u4" 4,
    U8 "u8" 8,
    U16 "u16" 16,
    U32 "u32" 32,
    U64 "u64" 64,
    F16 "f16" 16,
    Bf16 "bf16" 16,
    F32 "f32" 32,
    F64 "f64" 64,
    F8e5m2 "f8e5m2" 8,
    F8e4m3 "f8e4m3" 8,
    F8e4m3fn "f8e4m3fn" 8,
    F8e4m3b11fnuz "f8e4m3b11fnuz" 8,
    F8e3m4 "f8e3m4" 8,
    F8e5m2fnuz "f8e5m2fnuz" 8,
    F8e4m3fnuz "f8e4m3fnuz" 8,
    F4e2m1fn "f4e2m1fn" 4,
    F8e8m0fnu "f8e8m0fnu" 8,
    F6e3m2fn "f6e3m2fn" 6,
    F6e2m3fn "f6e2m3fn" 6,
    C64 "c64" 64,
    C128 "c128" 128,
    Token "token" 0,
    Opaque "opaque" 0,
}

impl ElementType {
    /// Whether values of this type have elements at all.
    pub const fn is_array(self) -> bool {
        !matches!(self, ElementType::Token | ElementType::Opaque)
    }

    /// Whether elements are floating-point numbers (complex ones not counted).
    pub fn is_floating(self) -> bool {
        self.as_str().starts_with(['f', 'b'])
    }
}

impl std::fmt::Display for ElementType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}
