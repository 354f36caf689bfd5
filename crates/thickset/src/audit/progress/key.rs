//! The key that signs the rows of an audit that was not finished.
//!
//! The file of the rows done lies in a folder that others may write to. Rows taken from it decide a gate, so each line of
//! it carries an HMAC (RFC 2104, SHA-256) made with a secret that is kept elsewhere: whoever cannot read the key cannot make
//! rows that are believed.

use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::data::hexadecimal;
use crate::{Error, Result, file};

/// Bytes of a key.
const LENGTH: usize = 32;

/// Bytes that SHA-256 takes in at once.
const BLOCK: usize = 64;

/// A secret that signs the rows of unfinished audits.
#[derive(Clone, PartialEq, Eq)]
pub struct ResumeKey([u8; LENGTH]);

/// A signature.
pub(super) type Signature = [u8; LENGTH];

impl fmt::Debug for ResumeKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A secret is not for messages.
        formatter.write_str("ResumeKey")
    }
}

impl ResumeKey {
    /// The key of these bytes, which should be random and known to nobody else.
    #[must_use]
    pub const fn new(bytes: [u8; LENGTH]) -> Self {
        Self(bytes)
    }

    /// The user's key: `thickset/audit.key` in the platform's folder for state, or for local data where it has none. It is
    /// made of the system's random numbers when it is first needed, for its owner alone to read.
    ///
    /// # Errors
    /// When there is no such folder, or the key cannot be read or made.
    pub fn of_user() -> Result<Self> {
        let folder = dirs::state_dir().or_else(dirs::data_local_dir);
        let Some(folder) = folder else {
            let missing = std::io::Error::new(ErrorKind::NotFound, "the user has no home folder");
            return Err(Error::io("create", "audit.key", missing));
        };
        Self::at(&folder.join("thickset").join("audit.key"))
    }

    /// The key in a file, which is made if it is not there.
    ///
    /// # Errors
    /// When it cannot be read or made, is not a key, or can be read by others.
    pub fn at(path: &Path) -> Result<Self> {
        match fs::symlink_metadata(path) {
            Ok(_) => Self::read(path),
            Err(error) if error.kind() == ErrorKind::NotFound => Self::make(path),
            Err(source) => Err(Error::io("read", path, source)),
        }
    }

    fn read(path: &Path) -> Result<Self> {
        let refuse = |problem: &str| Error::Malformed {
            path: path.display().to_string(),
            line: None,
            problem: problem.to_owned(),
        };
        let found = fs::symlink_metadata(path).map_err(|source| Error::io("read", path, source))?;
        if !found.is_file() || found.len() != LENGTH as u64 {
            return Err(refuse(
                "expected a key of 32 bytes; remove it to get a new one",
            ));
        }
        if is_open_to_others(&found) {
            return Err(refuse(
                "other users can read this key; remove it to get a new one",
            ));
        }
        let bytes = file::read(path)?;
        let bytes: [u8; LENGTH] = bytes
            .try_into()
            .map_err(|_| refuse("expected a key of 32 bytes; remove it to get a new one"))?;
        Ok(Self(bytes))
    }

    /// Writes a new key beside its place and puts it there, unless another process was faster: then that one's is used.
    fn make(path: &Path) -> Result<Self> {
        if let Some(folder) = path.parent() {
            file::create_folder(folder)?;
        }
        let mut random = [0; 2 * LENGTH];
        getrandom::fill(&mut random).map_err(|source| {
            Error::io("create", path, std::io::Error::other(source.to_string()))
        })?;
        let (key, name) = random.split_at(LENGTH);
        let beside = beside(path, &hexadecimal(&name[..8]));
        let write = || {
            let mut options = OpenOptions::new();
            options.write(true).create_new(true);
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            let mut file = options.open(&beside)?;
            file.write_all(key)?;
            file.sync_all()?;
            // Unlike a rename, a link never replaces a key that is in use.
            fs::hard_link(&beside, path)
        };
        let made = write();
        // What matters is the key in its place.
        let _ = fs::remove_file(&beside);
        match made {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                Err(Error::io("create", path, error))
            }
            _ => Self::read(path),
        }
    }

    /// The signature of a text that follows another one.
    pub(super) fn sign(&self, before: &[u8], text: &[u8]) -> Signature {
        let mut block = [0; BLOCK];
        block[..LENGTH].copy_from_slice(&self.0);
        let padded = |with: u8| block.map(|byte| byte ^ with);
        let mut inner = Sha256::new();
        inner.update(padded(0x36));
        inner.update(before);
        inner.update(text);
        let mut outer = Sha256::new();
        outer.update(padded(0x5c));
        outer.update(inner.finalize());
        outer.finalize().into()
    }
}

/// Another name in the same folder.
fn beside(path: &Path, name: &str) -> PathBuf {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".");
    beside.push(name);
    beside.into()
}

#[cfg(unix)]
fn is_open_to_others(found: &fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    found.permissions().mode() & 0o077 != 0
}

#[cfg(not(unix))]
fn is_open_to_others(_: &fs::Metadata) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A key of fewer bytes is filled up with zeros, as the standard has it.
    fn key(bytes: &[u8]) -> ResumeKey {
        let mut filled = [0; LENGTH];
        filled[..bytes.len()].copy_from_slice(bytes);
        ResumeKey::new(filled)
    }

    #[test]
    fn signatures_are_those_of_rfc_4231() {
        let signed = key(&[0x0b; 20]).sign(b"", b"Hi There");
        assert_eq!(
            hexadecimal(&signed),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
        );
        let signed = key(b"Jefe").sign(b"what do ya want ", b"for nothing?");
        assert_eq!(
            hexadecimal(&signed),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
    }

    #[test]
    fn a_key_is_made_once_and_no_two_are_alike() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state").join("audit.key");
        let first = ResumeKey::at(&path).unwrap();
        assert_eq!(ResumeKey::at(&path).unwrap(), first);
        assert_ne!(
            ResumeKey::at(&folder.path().join("other.key")).unwrap(),
            first
        );
        let names = fs::read_dir(path.parent().unwrap()).unwrap();
        assert_eq!(names.count(), 1, "nothing is left beside");
        assert_eq!(format!("{first:?}"), "ResumeKey");
    }

    #[test]
    fn what_is_no_key_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.key");
        fs::write(&path, b"short").unwrap();
        let refused = ResumeKey::at(&path).unwrap_err().to_string();
        assert!(refused.contains("32 bytes"), "{refused}");
    }

    #[cfg(unix)]
    #[test]
    fn a_key_is_for_its_owner_alone() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.key");
        ResumeKey::at(&path).unwrap();
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        let refused = ResumeKey::at(&path).unwrap_err().to_string();
        assert!(refused.contains("other users"), "{refused}");
    }
}
