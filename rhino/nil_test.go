package rhino_test

import (
	"testing"

	"github.com/smolwc/smolwc/internal/nilcheck"
	"github.com/smolwc/smolwc/rhino"
)

// TestNil calls everything with nil and zero values: nothing panics.
func TestNil(t *testing.T) {
	p := nilcheck.Package{
		Funcs: []any{
			rhino.CheckName, rhino.CheckPK, rhino.Decode, rhino.Encode, rhino.Name, rhino.String, rhino.TokenHash, rhino.U64,
		},
		Types: []any{&rhino.Error{}, rhino.Bare(""), rhino.Fact{}, rhino.Place{}, rhino.Row{},
			rhino.Login{}, rhino.LoggedIn{}, rhino.CreateShard{}, rhino.CreateTable{}, rhino.SetRow{}, rhino.GetRow{}, rhino.DeleteRow{}, rhino.GetRows{},
			rhino.RowFound{}, rhino.RowsFound{}, rhino.MissingPkValue{}, rhino.PleaseRetry{}, rhino.InvalidRequest{}, rhino.GetTenantIdByToken{},
			rhino.TenantIdByToken{}, rhino.GetShardRegion{}, rhino.ShardLocated{}, rhino.GetTableSchema{}, rhino.TableSchema{}, rhino.AddGlobalTenant{},
			rhino.RemoveGlobalToken{}, rhino.AddShardToGlobalRouting{}, rhino.AddGlobalTableSchema{}, rhino.SeedRegion{}, rhino.AddLocalTenant{},
			rhino.AddShardToLocalRouting{}, rhino.AddLocalTableSchema{}, rhino.GetFacts{}, rhino.TakeFacts{}, rhino.Facts{}, rhino.SettleFacts{}},
	}
	p.Run(t, ".")
}
