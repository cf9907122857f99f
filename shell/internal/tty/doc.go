// Package tty controls a session's terminal: the pager for long output, the history of
// typed lines, and the marks around pasted text.
package tty
