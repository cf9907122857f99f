package server

import (
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/server/internal/access"
)

type (
	// Tokens are the tokens of a database: in a file beside its data, or, for a database
	// without a directory, in notes of its catalog. They are safe for concurrent use,
	// also by several processes.
	Tokens = access.Tokens
	// A Token lets a client in. Only the hash of its secret is kept: the secret is
	// 256 random bits, which cannot be guessed from the hash.
	Token = access.Token
	// A Grant is a right to tables: to one by its name in the database, or, with a *
	// at the end, to all tables whose names begin with it.
	Grant = access.Grant
	// A Right permits the holder of a token to use a table. Each includes those
	// before it.
	Right = access.Right
)

// The rights.
const (
	NoRight = access.NoRight
	Read    = access.Read  // rows, and the table's declaration
	Write   = access.Write // rows
	Admin   = access.Admin // the table itself
)

// OpenTokens are the tokens of the database in a directory.
func OpenTokens(dir string) *Tokens { return access.OpenTokens(dir) }

// TokensIn returns the tokens kept as notes in the catalog of a database without a
// directory, opened by [query.OpenStore]. The database must stay open while they are
// used. Every process with the database open sees a change within a second.
func TokensIn(db *query.DB) *Tokens { return access.TokensIn(db.Plumbing()) }
