//! A family of methods as one list.
//!
//! `kinds!` makes of one line a method everything that would else be typed again for each: the enum that a configuration
//! names by its `kind` (or by that alone), the behaviour behind each of its variants, the list of all of them, and how one is read from an
//! argument. A line is the variant's name, which in kebab-case is the registry's id, and the type of its settings, which
//! has defaults and implements the family's trait. That trait has a method `info` that gives the registry's entry.

macro_rules! kinds {
    (
        $(#[$attribute:meta])*
        pub enum $Kinds:ident of $Behaviour:ident, read as $what:literal {
            $($Kind:ident($Settings:ty),)+
        }
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(tag = "kind", rename_all = "kebab-case", remote = "Self")]
        pub enum $Kinds {
            $(
                #[doc = concat!("With the settings [`", stringify!($Settings), "`].")]
                $Kind($Settings),
            )+
        }

        crate::name_or_table::name_or_table!($Kinds);

        impl $Kinds {
            /// Every kind with its defaults.
            #[must_use]
            pub fn all() -> Vec<Self> {
                vec![$(Self::$Kind(<$Settings>::default())),+]
            }

            /// What it does.
            #[must_use]
            pub fn behaviour(&self) -> &dyn $Behaviour {
                match self {
                    $(Self::$Kind(settings) => settings,)+
                }
            }

            /// The registry's id.
            #[must_use]
            pub fn kind(&self) -> &'static str {
                self.behaviour().info().id
            }
        }

        $(
            impl From<$Settings> for $Kinds {
                fn from(settings: $Settings) -> Self {
                    Self::$Kind(settings)
                }
            }
        )+

        impl std::str::FromStr for $Kinds {
            type Err = crate::Error;

            /// Reads an id, or an inline TOML table with settings.
            fn from_str(text: &str) -> crate::Result<Self> {
                crate::inline::parse($what, text)
            }
        }
    };
}

pub(crate) use kinds;
