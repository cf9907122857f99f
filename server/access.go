package server

import "github.com/smolwc/smolwc/server/internal/access"

// Tokens are the tokens of a database, in a file beside its data. They are safe
// for concurrent use, also by several processes.
type Tokens = access.Tokens

// OpenTokens are the tokens of the database in a directory.
func OpenTokens(dir string) *Tokens { return access.OpenTokens(dir) }

// A Token lets a client in. Only the hash of its secret is kept: the secret is
// 256 random bits, which cannot be guessed from the hash.
type Token = access.Token

// A Grant is a right to tables: to one by its name in the database, or, with a *
// at the end, to all tables whose names begin with it.
type Grant = access.Grant

// A Right is what the holder of a token may do with a table. Each includes those
// before it.
type Right = access.Right

// The rights.
const (
	NoRight = access.NoRight
	Read    = access.Read  // rows, and the table's declaration
	Write   = access.Write // rows
	Admin   = access.Admin // the table itself
)

// TokenFile is the name of the file of tokens in a database's directory. The
// server's own process and others may change it at any time.
const TokenFile = access.TokenFile
