// Package tty is a session's terminal: the pager between the session and its screen,
// the history of the typed lines, and the marks around pasted text.
package tty
