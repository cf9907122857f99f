// Package wire converts between the messages of Bigtable's API and smolwc's own types:
// names of tables, values and their types, families and their rules. The server and the
// client use it.
package wire

import (
	"errors"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/smolwc/smolwc/internal/storedname"
	"github.com/smolwc/smolwc/schema"
)

// DefaultInstance is the instance whose tables have plain names in the database, unless
// another one is given.
const DefaultInstance = "projects/local/instances/local"

// An Instance is an instance of Bigtable, projects/P/instances/I.
type Instance struct{ Project, ID string }

// String is the full name, projects/P/instances/I.
func (i Instance) String() string {
	return "projects/" + i.Project + "/instances/" + i.ID
}

// Prefix begins the names of the tables of an instance in the database,
// unless the instance is the database's own.
func (i Instance) Prefix() string { return storedname.Prefix(i.Project, i.ID) }

// Branch names the branch with the name of an instance in calls of DeleteInstance. A server
// that serves no branches refuses it: the name of the instance would delete that with its tables.
func (i Instance) Branch() string { return i.String() + "/" + branchSegment }

// CutBranch reads projects/P/instances/I/branch.
func CutBranch(name string) (i Instance, ok bool) {
	i, rest, ok := CutInstance(name)
	return i, ok && rest == branchSegment
}

const branchSegment = "branch"

// CutSegment cuts "kind/id" off the front of a resource name; the text after the
// slash after the id is rest.
func CutSegment(name, kind string) (id, rest string, ok bool) {
	name, ok = strings.CutPrefix(name, kind)
	if !ok || name == "" || name[0] != '/' {
		return "", "", false
	}
	id, rest, _ = strings.Cut(name[1:], "/")
	return id, rest, id != ""
}

// ParseProject reads projects/P.
func ParseProject(name string) (string, error) {
	project, rest, ok := CutSegment(name, "projects")
	if !ok || rest != "" || strings.HasSuffix(name, "/") {
		return "", Invalid("%q is not the name of a project: projects/P", name)
	}
	return project, nil
}

// CutInstance reads projects/P/instances/I at the front of a name.
func CutInstance(name string) (id Instance, rest string, ok bool) {
	var ok1, ok2 bool
	id.Project, rest, ok1 = CutSegment(name, "projects")
	id.ID, rest, ok2 = CutSegment(rest, "instances")
	return id, rest, ok1 && ok2
}

// ParseInstance reads projects/P/instances/I.
func ParseInstance(name string) (Instance, error) {
	id, rest, ok := CutInstance(name)
	if !ok || rest != "" || strings.HasSuffix(name, "/") {
		return id, Invalid("%q is not the name of an instance: projects/P/instances/I", name)
	}
	return id, id.Check()
}

// CheckInstance validates the name of an instance.
func CheckInstance(name string) error {
	if _, err := ParseInstance(name); err != nil {
		return errors.New(StatusText(err))
	}
	return nil
}

// Check refuses ids that cannot be parts of a table's name.
func (i Instance) Check() error {
	if err := schema.CheckTableName(i.Prefix() + "t"); err != nil {
		return Invalid("%s: %v", i, err)
	}
	if schema.IsDerived(i.Prefix()) {
		return Invalid("%s: the project %s is the database's own", i, i.Project)
	}
	return nil
}

// ParseChild reads projects/P/instances/I/<kind>/C.
func ParseChild(name, kind, what string) (id Instance, child string, err error) {
	id, rest, ok := CutInstance(name)
	child, tail, ok2 := CutSegment(rest, kind)
	if !ok || !ok2 || tail != "" || strings.HasSuffix(name, "/") {
		return id, "", Invalid("%q is not the name of %s: projects/P/instances/I/%s/ID", name, what, kind)
	}
	return id, child, nil
}

// ParseBackup reads projects/P/instances/I/clusters/C/backups/B.
func ParseBackup(name string) (in Instance, id string, err error) {
	in, rest, ok := CutInstance(name)
	_, rest, ok2 := CutSegment(rest, "clusters")
	id, tail, ok3 := CutSegment(rest, "backups")
	if !ok || !ok2 || !ok3 || tail != "" || strings.HasSuffix(name, "/") {
		return in, "", Invalid("%q is not the name of a backup: projects/P/instances/I/clusters/C/backups/ID", name)
	}
	return in, id, nil
}

// A Table is a table as clients and as the database name it.
type Table struct {
	In     Instance
	ID     string
	Stored string // the name in the database
}

// String is the full name, projects/P/instances/I/tables/T.
func (t Table) String() string { return t.In.String() + "/tables/" + t.ID }

// NotFound is the error for a table that does not exist.
func (t Table) NotFound() error {
	return status.Errorf(codes.NotFound, "table %q not found", t.String())
}

// ParseTable reads projects/P/instances/I/tables/T. The tables of own have plain
// names in the database.
func (own Instance) ParseTable(name string) (Table, error) {
	in, id, err := ParseChild(name, "tables", "a table")
	if err != nil {
		return Table{}, err
	}
	t := own.Table(in, id)
	if schema.IsDerived(t.Stored) {
		return Table{}, t.NotFound()
	}
	return t, nil
}

// ParseView reads projects/P/instances/I/tables/T/authorizedViews/V.
func (own Instance) ParseView(name string) (t Table, id string, err error) {
	return own.parseOfTable(name, "authorizedViews", "an authorized view")
}

// ParseBundle reads projects/P/instances/I/tables/T/schemaBundles/B.
func (own Instance) ParseBundle(name string) (t Table, id string, err error) {
	return own.parseOfTable(name, "schemaBundles", "a schema bundle")
}

// parseOfTable reads projects/P/instances/I/tables/T/<kind>/ID.
func (own Instance) parseOfTable(name, kind, what string) (t Table, id string, err error) {
	in, rest, ok := CutInstance(name)
	table, rest, ok2 := CutSegment(rest, "tables")
	id, tail, ok3 := CutSegment(rest, kind)
	if !ok || !ok2 || !ok3 || tail != "" || strings.HasSuffix(name, "/") {
		return Table{}, "", Invalid("%q is not the name of %s: projects/P/instances/I/tables/T/%s/ID", name, what, kind)
	}
	return own.Table(in, table), id, nil
}

// Table is where the database keeps the table of an instance: a table of own keeps its
// plain name.
func (own Instance) Table(in Instance, id string) Table {
	t := Table{In: in, ID: id, Stored: id}
	if in != own {
		t.Stored = in.Prefix() + id
	}
	return t
}

// StoredTable is the name by which clients know a table of the database.
func (own Instance) StoredTable(stored string) Table {
	project, instance, id, ok := storedname.Cut(stored)
	if !ok {
		return Table{own, id, stored}
	}
	return Table{Instance{project, instance}, id, stored}
}

// CheckTableID is Bigtable's rule for the id of a new table, stricter in its
// length than the database's.
func CheckTableID(id string) error { return CheckID("table", id) }

// CheckID is the same rule for other ids.
func CheckID(what, id string) error {
	const longest = 50
	if len(id) > longest {
		return Invalid("%s id %q has %d characters; it may have up to %d", what, id, len(id), longest)
	}
	if strings.Contains(id, "/") {
		return Invalid("%s id %q is not [_a-zA-Z0-9][-_.a-zA-Z0-9]*", what, id)
	}
	if err := schema.CheckTableName(id); err != nil {
		return Invalid("%s id: %v", what, err)
	}
	return nil
}
