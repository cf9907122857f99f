// Package exec runs statements: a [Runner] takes a statement of the language, runs it
// against a [query.DB], or against a [Database] over the network, and returns a typed
// [Result]. It prints nothing and reads no files.
package exec
