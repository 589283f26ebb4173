//! The record of what exists: the store's trait, sled, the lock, encryption.
