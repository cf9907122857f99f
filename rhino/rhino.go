// Package rhino defines the messages of regions: tenants keep tables in shards, each
// shard lives in one region, and a client talks to the front of any region. The
// messages are those of Rhino (github.com/laplab/rhino), by their names, and a few
// more.
//
// A message travels as JSON in a text frame of a WebSocket, in an [Envelope]:
//
//	{"correlation_id": "1", "payload": {"Login": {"token": "secret"}}}
//	{"correlation_id": "1", "payload": {"LoggedIn": {"region": "eu-west-2"}}}
//
// The payload is an object with one key, the name of the message, or for a message
// without fields its bare name: "RowNotFound". [Decode] reads it, strictly, and
// [Encode] writes it. Everything here is a plain value. Package node contains the
// servers.
package rhino

import (
	"reflect"
	"unicode/utf8"
)

// A Message is a request or a reply: one of the structs of this package that
// [Envelope] lists, or a [Bare].
type Message any

// A Bare is a message without fields.
type Bare string

// The replies without fields.
const (
	NotLoggedIn     Bare = "NotLoggedIn"     // the first request must be Login
	InvalidToken    Bare = "InvalidToken"    // the region does not know the token, or not yet
	AlreadyLoggedIn Bare = "AlreadyLoggedIn" // the login of the connection stays as it is

	ShardCreated       Bare = "ShardCreated"
	ShardAlreadyExists Bare = "ShardAlreadyExists" // in whatever region
	ShardNotFound      Bare = "ShardNotFound"
	RegionNotFound     Bare = "RegionNotFound" // no such region in the configuration

	TableCreated       Bare = "TableCreated"
	TableAlreadyExists Bare = "TableAlreadyExists" // with whatever key
	TableNotFound      Bare = "TableNotFound"

	RowNotFound        Bare = "RowNotFound"
	SetRowCompleted    Bare = "SetRowCompleted"
	DeleteRowCompleted Bare = "DeleteRowCompleted"

	// Of the control and of regions.
	GlobalTenantAdded         Bare = "GlobalTenantAdded"
	GlobalTokenRemoved        Bare = "GlobalTokenRemoved"
	TokenConflict             Bare = "TokenConflict" // the token belongs to another tenant
	ShardAddedToGlobalRouting Bare = "ShardAddedToGlobalRouting"
	ShardRoutingAlreadyExists Bare = "ShardRoutingAlreadyExists"
	GlobalTableSchemaAdded    Bare = "GlobalTableSchemaAdded"
	RegionSeeded              Bare = "RegionSeeded"
	LocalTenantAdded          Bare = "LocalTenantAdded"
	ShardAddedToLocalRouting  Bare = "ShardAddedToLocalRouting"
	LocalTableSchemaAdded     Bare = "LocalTableSchemaAdded"
	FactsSettled              Bare = "FactsSettled"
)

var bares = setOf(NotLoggedIn, InvalidToken, AlreadyLoggedIn, ShardCreated, ShardAlreadyExists,
	ShardNotFound, RegionNotFound, TableCreated, TableAlreadyExists, TableNotFound, RowNotFound,
	SetRowCompleted, DeleteRowCompleted, GlobalTenantAdded, GlobalTokenRemoved, TokenConflict,
	ShardAddedToGlobalRouting, ShardRoutingAlreadyExists, GlobalTableSchemaAdded, RegionSeeded,
	LocalTenantAdded, ShardAddedToLocalRouting, LocalTableSchemaAdded, FactsSettled)

func setOf(names ...Bare) map[string]bool {
	set := map[string]bool{}
	for _, n := range names {
		set[string(n)] = true
	}
	return set
}

// structs are the messages with fields, by the names of their types.
var structs = typesOf(Login{}, LoggedIn{}, CreateShard{}, CreateTable{}, SetRow{}, GetRow{},
	DeleteRow{}, GetRows{}, RowFound{}, RowsFound{}, MissingPkValue{}, PleaseRetry{},
	InvalidRequest{}, GetTenantIdByToken{}, TenantIdByToken{}, GetShardRegion{},
	ShardLocated{}, GetTableSchema{}, TableSchema{}, AddGlobalTenant{}, RemoveGlobalToken{},
	AddShardToGlobalRouting{}, AddGlobalTableSchema{}, SeedRegion{}, AddLocalTenant{},
	AddShardToLocalRouting{}, AddLocalTableSchema{}, GetFacts{}, TakeFacts{}, Facts{}, SettleFacts{})

func typesOf(messages ...Message) map[string]reflect.Type {
	types := map[string]reflect.Type{}
	for _, m := range messages {
		t := reflect.TypeOf(m)
		types[t.Name()] = t
	}
	return types
}

// Name is the name of a message, "" for other values.
func Name(m Message) string {
	if b, ok := m.(Bare); ok {
		return string(b)
	}
	if t := reflect.TypeOf(m); t != nil && structs[t.Name()] == t {
		return t.Name()
	}
	return ""
}

// MaxName is the most bytes of a token and of the name of a tenant, a shard, a table, a
// region or a column.
const MaxName = 512

// MaxPK is the most columns of a table's key.
const MaxPK = 16

// CheckName returns an error unless name is UTF-8 of 1 to [MaxName] bytes. what is the
// field, for the message.
func CheckName(what, name string) error {
	switch {
	case name == "":
		return invalid("%s is empty", what)
	case len(name) > MaxName:
		return invalid("%s has %d bytes; the limit is %d", what, len(name), MaxName)
	case !utf8.ValidString(name):
		return invalid("%s is not UTF-8", what)
	}
	return nil
}

// CheckPK returns an error unless pk can be the key of a table: 1 to [MaxPK] different
// names of columns.
func CheckPK(pk []string) error {
	if len(pk) == 0 || len(pk) > MaxPK {
		return invalid("pk has %d columns; want 1 to %d", len(pk), MaxPK)
	}
	seen := map[string]bool{}
	for _, name := range pk {
		if err := CheckName("a column of pk", name); err != nil {
			return err
		}
		if seen[name] {
			return invalid("pk has the column %q twice", name)
		}
		seen[name] = true
	}
	return nil
}

// MaxMessage is the most bytes of a client's message, and of a reply's payload. A value
// or a row that makes a longer one cannot be sent.
const MaxMessage = 1 << 20
