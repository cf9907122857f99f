package com.google.cloud.bigtable.hbase;

import com.google.cloud.bigtable.hbase.test_env.SharedTestEnvRule;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import org.apache.hadoop.hbase.HColumnDescriptor;
import org.apache.hadoop.hbase.HRegionLocation;
import org.apache.hadoop.hbase.HTableDescriptor;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Admin;
import org.apache.hadoop.hbase.client.Append;
import org.apache.hadoop.hbase.client.AsyncConnection;
import org.apache.hadoop.hbase.client.ConnectionFactory;
import org.apache.hadoop.hbase.client.Delete;
import org.apache.hadoop.hbase.client.Get;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.RowMutations;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.client.SnapshotDescription;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.filter.CompareFilter.CompareOp;
import org.junit.ClassRule;
import org.junit.Test;
import org.junit.runner.RunWith;
import org.junit.runners.Suite;

/**
 * HBase's suite as bigtable-hbase has it. The classes below are those that the suite
 * leaves to be written for a version of HBase.
 */
@RunWith(Suite.class)
@Suite.SuiteClasses({
  TestAdminOps.class,
  TestBufferedMutator.class,
  TestCheckAndMutate.class,
  TestDisableTable.class,
  TestDurability.class,
  TestGetTable.class,
  TestListTables.class,
  TestPutGetDelete.class,
  TestScan.class,
  TestSingleColumnValueFilter.class,
  HBaseSuite.Appends.class,
  HBaseSuite.Batches.class,
  HBaseSuite.CheckAndMutate.class,
  HBaseSuite.ColumnFamilies.class,
  HBaseSuite.CreateTable.class,
  HBaseSuite.Deletes.class,
  HBaseSuite.Filters.class,
  HBaseSuite.ModifyTable.class,
  HBaseSuite.Puts.class,
  HBaseSuite.Snapshots.class,
  HBaseSuite.Timestamps.class,
  HBaseSuite.TruncateTable.class,
})
public class HBaseSuite {
  @ClassRule public static SharedTestEnvRule env = SharedTestEnvRule.getInstance();

  static Admin admin() throws IOException {
    return env.getConnection().getAdmin();
  }

  static HTableDescriptor table(TableName name) {
    return new HTableDescriptor(name).addFamily(new HColumnDescriptor(SharedTestEnvRule.COLUMN_FAMILY));
  }

  public static class Appends extends AbstractTestAppend {
    @Override
    public void getGetAddColumnVersion(Get g, int n, byte[] family, byte[] qualifier) throws IOException {
      g.addColumn(family, qualifier).readVersions(n);
    }

    @Override
    public void getGetAddFamilyVersion(Get g, int n, byte[] family) throws IOException {
      g.addFamily(family).readVersions(n);
    }

    @Override
    public void appendAdd(Append a, byte[] family, byte[] qualifier, byte[] value) {
      a.addColumn(family, qualifier, value);
    }
  }

  public static class Batches extends AbstractTestBatch {
    @Override
    protected void appendAdd(Append a, byte[] family, byte[] qualifier, byte[] value) {
      a.addColumn(family, qualifier, value);
    }
  }

  public static class CheckAndMutate extends AbstractTestCheckAndMutate {
    @Override
    protected boolean checkAndPut(byte[] row, byte[] family, byte[] qualifier, byte[] value, Put p) throws Exception {
      try (Table t = getDefaultTable()) {
        return t.checkAndPut(row, family, qualifier, value, p);
      }
    }

    @Override
    protected boolean checkAndPut(byte[] row, byte[] family, byte[] qualifier, CompareOp op, byte[] value, Put p) throws Exception {
      try (Table t = getDefaultTable()) {
        return t.checkAndPut(row, family, qualifier, op, value, p);
      }
    }

    @Override
    protected boolean checkAndDelete(byte[] row, byte[] family, byte[] qualifier, byte[] value, Delete d) throws Exception {
      try (Table t = getDefaultTable()) {
        return t.checkAndDelete(row, family, qualifier, value, d);
      }
    }

    @Override
    protected boolean checkAndMutate(byte[] row, byte[] family, byte[] qualifier, CompareOp op, byte[] value, RowMutations m)
        throws Exception {
      try (Table t = getDefaultTable()) {
        return t.checkAndMutate(row, family, qualifier, op, value, m);
      }
    }
  }

  public static class ColumnFamilies extends AbstractTestColumnFamilyAdmin {
    @Override
    protected HTableDescriptor getTableDescriptor(TableName name) throws Exception {
      return admin.getTableDescriptor(name);
    }

    @Override
    protected void addColumn(byte[] family, int versions) throws Exception {
      admin.addColumnFamily(tableName, new HColumnDescriptor(family).setMaxVersions(versions));
    }

    @Override
    protected void modifyColumn(byte[] family, int versions) throws Exception {
      admin.modifyColumnFamily(tableName, new HColumnDescriptor(family).setMaxVersions(versions));
    }

    @Override
    protected void deleteColumn(byte[] family) throws Exception {
      admin.deleteColumnFamily(tableName, family);
    }
  }

  public static class CreateTable extends AbstractTestCreateTable {
    @Override
    protected void createTable(TableName name) throws Exception {
      admin().createTable(table(name));
    }

    @Override
    protected void createTable(TableName name, byte[] start, byte[] end, int regions) throws Exception {
      admin().createTable(table(name), start, end, regions);
    }

    @Override
    protected void createTable(TableName name, byte[][] splits) throws Exception {
      admin().createTable(table(name), splits);
    }

    @Override
    protected List<HRegionLocation> getRegions(TableName name) throws Exception {
      return getConnection().getRegionLocator(name).getAllRegionLocations();
    }

    @Override
    protected boolean isTableEnabled(TableName name) throws Exception {
      return admin().isTableEnabled(name);
    }

    @Override
    protected void disableTable(TableName name) throws Exception {
      admin().disableTable(name);
    }

    @Override
    protected boolean asyncGetRegions(TableName name) throws Exception {
      try (AsyncConnection c = ConnectionFactory.createAsyncConnection(getConnection().getConfiguration()).get()) {
        return c.getRegionLocator(name).getRegionLocation(new byte[0], false).get() != null;
      }
    }

    @Override
    protected void adminDeleteTable(TableName name) throws Exception {
      admin().deleteTable(name);
    }

    @Override
    protected boolean tableExists(TableName name) throws Exception {
      return admin().tableExists(name);
    }
  }

  public static class Deletes extends AbstractTestDelete {
    @Override
    protected Get readGetVersion(int n, byte[] row) throws IOException {
      return new Get(row).readVersions(n);
    }
  }

  public static class Filters extends AbstractTestFilters {
    @Override
    protected void getGetAddVersion(Get g, int n) throws IOException {
      g.readVersions(n);
    }

    @Override
    protected void scanAddVersion(Scan s, int n) {
      s.readVersions(n);
    }
  }

  public static class ModifyTable extends AbstractTestModifyTable {
    @Test
    public void testModifyTable() throws IOException {
      testModifyTable(
          descriptor -> {
            try {
              admin().modifyTable(descriptor.getTableName(), descriptor);
              return null;
            } catch (IOException e) {
              throw new AssertionError(e);
            }
          });
    }
  }

  public static class Puts extends AbstractTestPut {
    @Override
    protected Get getGetAddColumnVersion(int n, byte[] row, byte[] qualifier) throws IOException {
      return new Get(row).addColumn(SharedTestEnvRule.COLUMN_FAMILY, qualifier).readVersions(n);
    }
  }

  public static class Snapshots extends AbstractTestSnapshot {
    private static int size(List<SnapshotDescription> all) {
      return all.size();
    }

    @Override
    protected void createTable(TableName name) throws IOException {
      descriptor = table(name);
      admin().createTable(descriptor);
    }

    @Override
    protected void snapshot(String snapshot, TableName name) throws IOException {
      admin().snapshot(snapshot, name);
    }

    @Override
    protected int listSnapshotsSize(String regex) throws IOException {
      return size(admin().listSnapshots(regex));
    }

    @Override
    protected int listSnapshotsSize(Pattern p) throws IOException {
      return size(admin().listSnapshots(p));
    }

    @Override
    protected void deleteSnapshot(String snapshot) throws IOException {
      admin().deleteSnapshot(snapshot);
    }

    @Override
    protected void deleteTableSnapshots(Pattern tables, Pattern snapshots) throws IOException {
      admin().deleteTableSnapshots(tables, snapshots);
    }

    @Override
    protected boolean tableExists(TableName name) throws IOException {
      return admin().tableExists(name);
    }

    @Override
    protected void disableTable(TableName name) throws IOException {
      admin().disableTable(name);
    }

    @Override
    protected void cloneSnapshot(String snapshot, TableName name) throws IOException {
      admin().cloneSnapshot(snapshot, name);
    }

    @Override
    protected int listTableSnapshotsSize(String tables, String snapshots) throws IOException {
      return size(admin().listTableSnapshots(tables, snapshots));
    }

    @Override
    protected int listTableSnapshotsSize(Pattern tables, Pattern snapshots) throws IOException {
      return size(admin().listTableSnapshots(tables, snapshots));
    }

    @Override
    protected void deleteSnapshots(Pattern p) throws IOException {
      admin().deleteSnapshots(p);
    }

    @Override
    protected void deleteTable(TableName name) throws IOException {
      admin().deleteTable(name);
    }

    @Override
    protected int listTableSnapshotsSize(Pattern tables) throws Exception {
      return listTableSnapshotsSize(tables, Pattern.compile(".*"));
    }
  }

  public static class Timestamps extends AbstractTestTimestamp {
    @Override
    protected void readVersions(Get g, int n) throws IOException {
      g.readVersions(n);
    }
  }

  public static class TruncateTable extends AbstractTestTruncateTable {
    @Override
    protected void createTable(TableName name, byte[][] splits) throws IOException {
      admin().createTable(table(name), splits);
    }

    @Override
    protected void doTruncate(TableName name) throws Exception {
      admin().disableTable(name);
      admin().truncateTable(name, true);
    }
  }
}
