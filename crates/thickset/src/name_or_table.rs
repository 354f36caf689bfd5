//! A method's name in place of a table: `objective = "vanilla"` is `objective = { kind = "vanilla" }`.
//!
//! `name_or_table!` is for a type that serde reads from a table with a `kind`, derived with `remote = "Self"`. It gives the type its way
//! in, from such a table or from the name alone, and its way out, as a table.

macro_rules! name_or_table {
    ($Type:ty) => {
        const _: () = {
            use serde::de::value::{MapAccessDeserializer, MapDeserializer};
            use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};
            use serde::{Serialize, Serializer};

            impl Serialize for $Type {
                fn serialize<S: Serializer>(
                    &self,
                    serializer: S,
                ) -> std::result::Result<S::Ok, S::Error> {
                    Self::serialize(self, serializer)
                }
            }

            impl<'de> Deserialize<'de> for $Type {
                fn deserialize<D: Deserializer<'de>>(
                    deserializer: D,
                ) -> std::result::Result<Self, D::Error> {
                    deserializer.deserialize_any(NameOrTable)
                }
            }

            struct NameOrTable;

            impl<'de> Visitor<'de> for NameOrTable {
                type Value = $Type;

                fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                    formatter.write_str("a name in quotes, or a table with a `kind`")
                }

                fn visit_str<E: de::Error>(
                    self,
                    name: &str,
                ) -> std::result::Result<Self::Value, E> {
                    <$Type>::deserialize(MapDeserializer::new(std::iter::once(("kind", name))))
                }

                fn visit_map<M: MapAccess<'de>>(
                    self,
                    map: M,
                ) -> std::result::Result<Self::Value, M::Error> {
                    <$Type>::deserialize(MapAccessDeserializer::new(map))
                }
            }
        };
    };
}

pub(crate) use name_or_table;
