package main

import (
	"context"
	"path/filepath"

	"github.com/pingcap/badger"
	"github.com/pingcap/tidb/pkg/store/mockstore/unistore/config"
	"github.com/pingcap/tidb/pkg/store/mockstore/unistore/lockstore"
	"github.com/pingcap/tidb/pkg/store/mockstore/unistore/pd"
	"github.com/pingcap/tidb/pkg/store/mockstore/unistore/tikv"
	"github.com/pingcap/tidb/pkg/store/mockstore/unistore/tikv/mvcc"
)

// newServer is New of unistore's package server, with a log of locks.
func newServer(conf *config.Config, client pd.Client) (*tikv.Server, error) {
	physical, logical, err := client.GetTS(context.Background())
	if err != nil {
		return nil, err
	}
	safepoint := &tikv.SafePoint{}
	o := options(&conf.Engine)
	o.CompactionFilterFactory = safepoint.CreateCompactionFilter
	db, err := badger.Open(o)
	if err != nil {
		return nil, err
	}
	bundle := &mvcc.DBBundle{DB: db, LockStore: lockstore.NewMemStore(8 << 20), StateTS: uint64(physical)<<18 + uint64(logical)}
	writer, err := openLockLog(filepath.Join(conf.Engine.DBPath, "locks"), bundle.LockStore, tikv.NewDBWriter(bundle))
	if err != nil {
		return nil, err
	}
	regions := tikv.NewStandAloneRegionManager(bundle, tikv.RegionOptions{
		StoreAddr: conf.Server.StoreAddr, PDAddr: conf.Server.PDAddr, RegionSize: conf.Server.RegionSize,
	}, client)
	inner := tikv.NewStandAlongInnerServer(bundle)
	inner.Setup(client)
	store := tikv.NewMVCCStore(conf, bundle, conf.Engine.DBPath, safepoint, writer, client)
	store.DeadlockDetectSvr.ChangeRole(tikv.Leader)
	if err := inner.Start(client); err != nil {
		return nil, err
	}
	store.StartDeadlockDetection(false)
	return tikv.NewServer(regions, store, inner), nil
}

func options(e *config.Engine) badger.Options {
	o := badger.DefaultOptions
	o.Dir = filepath.Join(e.DBPath, "kv")
	o.ValueDir, o.ValueLogFileSize, o.ValueLogMaxNumFiles, o.ValueThreshold = o.Dir, e.VlogFileSize, 3, e.ValueThreshold
	o.MaxMemTableSize, o.TableBuilderOptions.MaxTableSize = e.MaxMemTableSize, e.MaxTableSize
	o.NumCompactors, o.NumMemtables = e.NumCompactors, e.NumMemTables
	o.NumLevelZeroTables, o.NumLevelZeroTablesStall, o.LevelOneSize = e.NumL0Tables, e.NumL0TablesStall, e.L1Size
	o.MaxBlockCacheSize, o.MaxIndexCacheSize = e.BlockCacheSize, e.IndexCacheSize
	o.TableBuilderOptions.SuRFStartLevel = e.SurfStartLevel
	o.SyncWrites, o.ManagedTxns, o.CompactL0WhenClose = e.SyncWrite, true, true
	return o
}
