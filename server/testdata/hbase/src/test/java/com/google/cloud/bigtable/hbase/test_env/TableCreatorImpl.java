package com.google.cloud.bigtable.hbase.test_env;

import java.io.IOException;
import org.apache.hadoop.hbase.HColumnDescriptor;
import org.apache.hadoop.hbase.HTableDescriptor;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Admin;

/** Makes the table that the classes of the suite share. The suite finds it by its name. */
public class TableCreatorImpl implements TableCreator {
  @Override
  public void createTable(Admin admin, TableName name) throws IOException {
    admin.createTable(
        new HTableDescriptor(name)
            .addFamily(new HColumnDescriptor(SharedTestEnvRule.COLUMN_FAMILY).setMaxVersions(SharedTestEnvRule.MAX_VERSIONS))
            .addFamily(new HColumnDescriptor(SharedTestEnvRule.COLUMN_FAMILY2).setMaxVersions(SharedTestEnvRule.MAX_VERSIONS)));
  }
}
