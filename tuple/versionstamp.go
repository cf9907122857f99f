package tuple

import "encoding/hex"

// A Versionstamp is a number that a FoundationDB cluster gives to a
// transaction when it commits. Versionstamps sort in the order of commits.
//
// smolwc never makes them: the type exists so that keys which hold one can be
// read, compared and written back.
type Versionstamp struct {
	// TransactionVersion is the commit version in 8 bytes and the number of
	// the batch in 2 bytes, both big-endian.
	TransactionVersion [10]byte

	// UserVersion orders the keys of one transaction.
	UserVersion uint16
}

// incomplete is the transaction version of a stamp not yet filled in by a commit.
var incomplete = [10]byte{0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF}

// Complete reports whether the transaction version is known: an incomplete stamp,
// a placeholder for the database to fill in, holds ten FF bytes there.
func (v Versionstamp) Complete() bool { return v.TransactionVersion != incomplete }

// String is the stamp's 12 bytes, versionstamp'0102030405060708090a0291'.
func (v Versionstamp) String() string {
	user := []byte{byte(v.UserVersion >> 8), byte(v.UserVersion)}
	return "versionstamp'" + hex.EncodeToString(v.TransactionVersion[:]) + hex.EncodeToString(user) + "'"
}
