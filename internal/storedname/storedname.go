// Package storedname is the rule by which the tables of several instances share a
// database: its own instance's have plain names, and the others' begin with their
// instances.
package storedname

import "strings"

// Prefix begins the names of the tables of an instance.
func Prefix(project, instance string) string { return project + "/" + instance + "/" }

// Cut takes the name of a table of another instance apart. ok is false if the table is of
// the database's own.
func Cut(stored string) (project, instance, id string, ok bool) {
	parts := strings.Split(stored, "/")
	if len(parts) != 3 {
		return "", "", stored, false
	}
	return parts[0], parts[1], parts[2], true
}
