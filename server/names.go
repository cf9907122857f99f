package server

import (
	"errors"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/smolwc/smolwc/schema"
)

// DefaultInstance is the instance whose tables have plain names in the database,
// where nothing else is said.
const DefaultInstance = "projects/local/instances/local"

// An instanceID is what projects/P/instances/I names.
type instanceID struct{ project, instance string }

func (i instanceID) String() string {
	return "projects/" + i.project + "/instances/" + i.instance
}

func (i instanceID) prefix() string { return i.project + "/" + i.instance + "/" }

// cutSegment cuts "kind/id" off the front of a resource name; what follows the
// slash behind the id is rest.
func cutSegment(name, kind string) (id, rest string, ok bool) {
	name, ok = strings.CutPrefix(name, kind)
	if !ok || name == "" || name[0] != '/' {
		return "", "", false
	}
	id, rest, _ = strings.Cut(name[1:], "/")
	return id, rest, id != ""
}

// parseProject reads projects/P.
func parseProject(name string) (string, error) {
	project, rest, ok := cutSegment(name, "projects")
	if !ok || rest != "" || strings.HasSuffix(name, "/") {
		return "", invalid("%q is not the name of a project: projects/P", name)
	}
	return project, nil
}

// cutInstance reads projects/P/instances/I at the front of a name.
func cutInstance(name string) (id instanceID, rest string, ok bool) {
	var ok1, ok2 bool
	id.project, rest, ok1 = cutSegment(name, "projects")
	id.instance, rest, ok2 = cutSegment(rest, "instances")
	return id, rest, ok1 && ok2
}

// parseInstance reads projects/P/instances/I.
func parseInstance(name string) (instanceID, error) {
	id, rest, ok := cutInstance(name)
	if !ok || rest != "" || strings.HasSuffix(name, "/") {
		return id, invalid("%q is not the name of an instance: projects/P/instances/I", name)
	}
	return id, id.check()
}

// CheckInstance finds what is wrong with the name of an instance.
func CheckInstance(name string) error {
	if _, err := parseInstance(name); err != nil {
		return errors.New(statusText(err))
	}
	return nil
}

// check refuses ids that cannot be parts of a table's name.
func (i instanceID) check() error {
	if err := schema.CheckTableName(i.prefix() + "t"); err != nil {
		return invalid("%s: %v", i, err)
	}
	return nil
}

// parseChild reads projects/P/instances/I/<kind>/C.
func parseChild(name, kind, what string) (id instanceID, child string, err error) {
	id, rest, ok := cutInstance(name)
	child, tail, ok2 := cutSegment(rest, kind)
	if !ok || !ok2 || tail != "" || strings.HasSuffix(name, "/") {
		return id, "", invalid("%q is not the name of %s: projects/P/instances/I/%s/ID", name, what, kind)
	}
	return id, child, nil
}

// parseBackup reads projects/P/instances/I/clusters/C/backups/B.
func parseBackup(name string) (in instanceID, id string, err error) {
	in, rest, ok := cutInstance(name)
	_, rest, ok2 := cutSegment(rest, "clusters")
	id, tail, ok3 := cutSegment(rest, "backups")
	if !ok || !ok2 || !ok3 || tail != "" || strings.HasSuffix(name, "/") {
		return in, "", invalid("%q is not the name of a backup: projects/P/instances/I/clusters/C/backups/ID", name)
	}
	return in, id, nil
}

// A tableName is a table as clients and as the database name it.
type tableName struct {
	in     instanceID
	id     string
	stored string
}

func (t tableName) String() string { return t.in.String() + "/tables/" + t.id }

func (t tableName) notFound() error {
	return status.Errorf(codes.NotFound, "table %q not found", t.String())
}

// parseTable reads projects/P/instances/I/tables/T. The tables of own have plain
// names in the database.
func (own instanceID) parseTable(name string) (tableName, error) {
	in, id, err := parseChild(name, "tables", "a table")
	if err != nil {
		return tableName{}, err
	}
	return own.tableIn(in, id), nil
}

// tableIn is where the database keeps the table of an instance: a table of own has
// its plain name.
func (own instanceID) tableIn(in instanceID, id string) tableName {
	t := tableName{in: in, id: id, stored: id}
	if in != own {
		t.stored = in.prefix() + id
	}
	return t
}

// tableOf is the name by which clients know a table of the database.
func (own instanceID) tableOf(stored string) tableName {
	parts := strings.Split(stored, "/")
	if len(parts) != 3 {
		return tableName{own, stored, stored}
	}
	return tableName{instanceID{parts[0], parts[1]}, parts[2], stored}
}

// checkTableID is Bigtable's rule for the id of a new table, stricter in its
// length than the database's.
func checkTableID(id string) error { return checkID("table", id) }

// checkID is the same rule for the id of what may have one.
func checkID(what, id string) error {
	const longest = 50
	if len(id) > longest {
		return invalid("%s id %q has %d characters; it may have up to %d", what, id, len(id), longest)
	}
	if strings.Contains(id, "/") {
		return invalid("%s id %q is not [_a-zA-Z0-9][-_.a-zA-Z0-9]*", what, id)
	}
	if err := schema.CheckTableName(id); err != nil {
		return invalid("%s id: %v", what, err)
	}
	return nil
}
