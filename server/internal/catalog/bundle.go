package catalog

import (
	"sync"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/smolwc/smolwc/api/wire"
	"github.com/smolwc/smolwc/sql/message"
)

// A Bundle is a schema bundle of a table. It is not changed.
type Bundle struct {
	Message *adminpb.SchemaBundle // its name is the id alone, and it carries no etag
	// Types are the bundle's messages and enums. They are read when they are first used.
	Types func() (*message.Bundle, error)
}

// NewBundle is the bundle of a message, which the caller no longer changes.
func NewBundle(m *adminpb.SchemaBundle) *Bundle {
	return &Bundle{m, sync.OnceValues(func() (*message.Bundle, error) {
		return message.Parse(m.GetName(), m.GetProtoSchema().GetProtoDescriptors())
	})}
}

func (n *Note) setBundle(b *Bundle) {
	if n.Bundles == nil {
		n.Bundles = map[string]*Bundle{}
	}
	n.Bundles[b.Message.GetName()] = b
}

// WithBundle is a copy of the note in which a schema bundle is added, replaced or, if b is
// nil, removed.
func (n *Note) WithBundle(id string, b *Bundle) *Note {
	c := n.Clone()
	if b == nil {
		delete(c.Bundles, id)
	} else {
		c.setBundle(b)
	}
	return c
}

// LookUpBundle finds a schema bundle and its table by the bundle's full name.
func (c *Catalog) LookUpBundle(name string) (wire.Table, *Bundle, error) {
	t, id, err := c.Own.ParseBundle(name)
	if err != nil {
		return t, nil, err
	}
	if _, err := c.LookUp(t.String()); err != nil {
		return t, nil, err
	}
	b := c.Note(t.Stored).Bundles[id]
	if b == nil {
		return t, nil, status.Errorf(codes.NotFound, "schema bundle %q not found", name)
	}
	return t, b, nil
}
