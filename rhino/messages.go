package rhino

// The requests of clients, to a front.
type (
	// Login gives the connection its tenant. Requests that are sent after it wait for
	// it. The reply is LoggedIn, InvalidToken or AlreadyLoggedIn.
	Login struct {
		Token string `json:"token"`
	}
	// CreateShard creates a shard in a region, for the tenant. The reply is
	// ShardCreated, ShardAlreadyExists or RegionNotFound.
	CreateShard struct {
		Name   string `json:"name"`
		Region string `json:"region"`
	}
	// CreateTable creates a table, in all shards of the tenant. PK are the columns of
	// its key, in the order by which rows sort. The reply is TableCreated or
	// TableAlreadyExists.
	CreateTable struct {
		Name string   `json:"name"`
		PK   []string `json:"pk"`
	}
	// SetRow sets columns of a row; other columns stay. The row must have the columns
	// of the key. The reply is SetRowCompleted. It may be sent again: the outcome is
	// the same.
	SetRow struct {
		Place
		Row Row `json:"row"`
	}
	// GetRow reads a row. PK may have further columns, which do not matter. The reply
	// is RowFound or RowNotFound.
	GetRow struct {
		Place
		PK Row `json:"pk"`
	}
	// DeleteRow removes a row. The reply is DeleteRowCompleted, whether there was a row
	// or not.
	DeleteRow struct {
		Place
		PK Row `json:"pk"`
	}
	// GetRows reads rows in the order of their keys. The reply is RowsFound.
	GetRows struct {
		Place
		// Prefix holds values of the first columns of the key; without values all rows
		// are read.
		Prefix Row `json:"prefix,omitempty"`
		// Limit is the most rows of the reply, up to [MaxRows]; 0 is [DefaultRows].
		Limit int `json:"limit,omitempty"`
		// After continues after an earlier reply: its Next.
		After string `json:"after,omitempty"`
	}
)

// The limits of GetRows.
const (
	DefaultRows = 100
	MaxRows     = 1000
)

// A Place is a tenant's table in a shard. A front knows the tenant; its clients must not
// name one.
type Place struct {
	TenantID  string `json:"tenant_id,omitempty"`
	ShardName string `json:"shard_name"`
	TableName string `json:"table_name"`
	// Forwarded says that a region passed the request on to the shard's region.
	Forwarded bool `json:"forwarded,omitempty"`
}

// Check returns an error for names that cannot be.
func (p Place) Check() error {
	for what, name := range map[string]string{"tenant_id": p.TenantID, "shard_name": p.ShardName, "table_name": p.TableName} {
		if err := CheckName(what, name); err != nil {
			return err
		}
	}
	return nil
}

// The replies with fields.
type (
	LoggedIn struct {
		Region string `json:"region"`
	}
	RowFound struct {
		Row Row `json:"row"`
	}
	// RowsFound lists rows in the order of their keys.
	RowsFound struct {
		Rows []Row `json:"rows"`
		// Next is for GetRows.After; "" says that these are the last rows. The reply
		// may have fewer rows than the limit, and a Next.
		Next string `json:"next"`
	}
	// MissingPkValue names the first column of the key without a value.
	MissingPkValue struct {
		Component string `json:"component"`
	}
	// PleaseRetry says that a server did not answer in time, or cannot now. A write may
	// have happened.
	PleaseRetry struct {
		Reason string `json:"reason"`
	}
	// InvalidRequest says what is wrong with the request. It will be wrong again.
	InvalidRequest struct {
		Reason string `json:"reason"`
	}
)

// Requests to a region besides those about rows, which have a tenant_id there.
type (
	GetTenantIdByToken struct {
		Token string `json:"token"`
	}
	TenantIdByToken struct {
		TenantID string `json:"tenant_id"`
	}
	GetShardRegion struct {
		TenantID  string `json:"tenant_id"`
		ShardName string `json:"shard_name"`
	}
	ShardLocated struct {
		Region string `json:"region"`
	}
	GetTableSchema struct {
		TenantID  string `json:"tenant_id"`
		TableName string `json:"table_name"`
	}
	TableSchema struct {
		PK []string `json:"pk"`
	}
)

// Requests to the control, besides GetShardRegion and GetTableSchema.
type (
	// AddGlobalTenant gives a token to a tenant. The reply is GlobalTenantAdded, again
	// if the token was already the tenant's, or TokenConflict.
	AddGlobalTenant struct {
		TenantID string `json:"tenant_id"`
		Token    string `json:"token"`
	}
	// RemoveGlobalToken removes a token. Connections that have logged in with it stay.
	RemoveGlobalToken struct {
		Token string `json:"token"`
	}
	AddShardToGlobalRouting struct {
		TenantID  string `json:"tenant_id"`
		ShardName string `json:"shard_name"`
		Region    string `json:"region"`
	}
	AddGlobalTableSchema struct {
		TenantID  string   `json:"tenant_id"`
		TableName string   `json:"table_name"`
		PK        []string `json:"pk"`
	}
	// SeedRegion sends all facts to a region again, for instance because its database
	// was lost. The reply is RegionSeeded or RegionNotFound.
	SeedRegion struct {
		Region string `json:"region"`
	}
)

// A Version orders the changes of one fact: a region keeps the one with the greatest
// version, in whatever order they come. A change without a version, 0, counts only
// where there is no other.
type Version struct {
	Version int64 `json:"version,omitempty"`
	Removed bool  `json:"removed,omitempty"`
}

// Messages of the replicator to regions.
type (
	// AddLocalTenant carries the token, or its hash as made by [TokenHash].
	AddLocalTenant struct {
		TenantID  string `json:"tenant_id"`
		Token     string `json:"token,omitempty"`
		TokenHash string `json:"token_hash,omitempty"`
		Version
	}
	AddShardToLocalRouting struct {
		TenantID  string `json:"tenant_id"`
		ShardName string `json:"shard_name"`
		Region    string `json:"region"`
		Version
	}
	AddLocalTableSchema struct {
		TenantID  string   `json:"tenant_id"`
		TableName string   `json:"table_name"`
		PK        []string `json:"pk"`
		Version
	}
)

// GetFacts is how a region with an empty disk asks the control for all facts, page by page.
// The reply is Facts, with those that were removed.
type GetFacts struct {
	// After continues after an earlier reply: its Next.
	After []byte `json:"after,omitempty"`
}

// Messages of the replicator to the control.
type (
	// TakeFacts takes facts for a region with a lease, at most Max. The reply is Facts,
	// without facts after WaitMs milliseconds.
	TakeFacts struct {
		Region string `json:"region"`
		Max    int    `json:"max"`
		WaitMs int    `json:"wait_ms"`
	}
	Facts struct {
		Facts []Fact `json:"facts"`
		// Next is for GetFacts.After; without it these are the last facts.
		Next []byte `json:"next,omitempty"`
	}
	// A Fact carries one of the messages to a region, and the item that it came with.
	Fact struct {
		ID     string                  `json:"id"`
		Tenant *AddLocalTenant         `json:"tenant,omitempty"`
		Shard  *AddShardToLocalRouting `json:"shard,omitempty"`
		Table  *AddLocalTableSchema    `json:"table,omitempty"`
	}
	// SettleFacts ends the leases of facts that were taken on the same connection: the
	// region stored Done; Again are to be taken again.
	SettleFacts struct {
		Done  []string `json:"done"`
		Again []string `json:"again"`
	}
)

// Message is for the region; nil if the fact is empty.
func (f Fact) Message() Message {
	switch {
	case f.Tenant != nil:
		return *f.Tenant
	case f.Shard != nil:
		return *f.Shard
	case f.Table != nil:
		return *f.Table
	}
	return nil
}
