//! A 64-bit number that a JSON reader must not round.
//!
//! JavaScript and many other readers keep only 53 bits of a JSON number, and would change a seed. This type is used
//! for seeds and checksums; counts and nanoseconds remain JSON numbers.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A 64-bit number that is saved as a string of 16 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Hex64(pub u64);

impl fmt::Display for Hex64 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl Serialize for Hex64 {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Hex64 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        let is_hex = text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let unexpected = || de::Error::invalid_value(de::Unexpected::Str(&text), &"16 hexadecimal digits");
        if !is_hex {
            return Err(unexpected());
        }
        u64::from_str_radix(&text, 16).map(Self).map_err(|_| unexpected())
    }
}

impl JsonSchema for Hex64 {
    fn schema_name() -> Cow<'static, str> {
        "Hex64".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A 64-bit number as 16 hexadecimal digits.",
            "type": "string",
            "pattern": "^[0-9a-fA-F]{16}$",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<u64>) {
        let found: Result<Hex64, _> = serde_json::from_value(text.into());
        assert_eq!(found.ok().map(|hex| hex.0), expected, "{text}");
    }

    #[test]
    fn reads_sixteen_digits_and_nothing_else() {
        check("ffffffffffffffff", Some(u64::MAX));
        check("00000000000000ff", Some(255));
        check("ff", None);
        check("+0000000000000ff", None);
        check("0x000000000000ff", None);
        check("", None);
    }

    #[test]
    fn keeps_the_leading_zeros() {
        assert_eq!(serde_json::to_string(&Hex64(10)).unwrap(), "\"000000000000000a\"");
    }
}
