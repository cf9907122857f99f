//! The client bigtable_rs against the server that $BIGTABLE_EMULATOR_HOST names. It
//! decodes each message of a read for itself. Ends with status 0 when every answer
//! was right.

use bigtable_rs::bigtable::{BigTableConnection, RowCell};
use bigtable_rs::google::bigtable::v2::mutation::{Mutation as Change, SetCell};
use bigtable_rs::google::bigtable::v2::{MutateRowRequest, Mutation, ReadRowsRequest, RowSet};
use std::error::Error;
use std::time::Duration;

const SIZES: [usize; 3] = [10, 1_000_000, 3_000_000];

fn set(qualifier: String, value: Vec<u8>) -> Mutation {
    let cell = SetCell {
        family_name: "f".into(),
        column_qualifier: qualifier.into_bytes(),
        timestamp_micros: 1000,
        value,
        ..Default::default()
    };
    Mutation {
        mutation: Some(Change::SetCell(cell)),
        ..Default::default()
    }
}

fn length(cells: &[RowCell]) -> usize {
    cells.iter().map(|c| c.value.len()).sum()
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let timeout = Some(Duration::from_secs(60));
    let mut client = BigTableConnection::new("local", "local", false, 1, timeout).await?.client();
    let table_name = client.get_full_table_name("rust");
    for size in SIZES {
        for (kind, cells) in [("one", 1), ("ten", 10)] {
            let mutations = (0..cells).map(|i| set(format!("q{i}"), vec![b'x'; size / cells])).collect();
            let row_key = format!("{kind}{size}").into_bytes();
            client
                .mutate_row(MutateRowRequest {
                    table_name: table_name.clone(),
                    row_key,
                    mutations,
                    ..Default::default()
                })
                .await?;
        }
    }
    for size in SIZES {
        for (kind, cells) in [("one", 1), ("ten", 10)] {
            let row_key = format!("{kind}{size}").into_bytes();
            let rows = client
                .read_rows(ReadRowsRequest {
                    table_name: table_name.clone(),
                    rows: Some(RowSet {
                        row_keys: vec![row_key.clone()],
                        row_ranges: vec![],
                    }),
                    ..Default::default()
                })
                .await?;
            assert_eq!(rows.len(), 1, "{kind}{size}");
            assert_eq!(rows[0].0, row_key);
            assert_eq!(length(&rows[0].1), size, "{kind}{size}");
            assert!(rows[0].1.len() == cells, "{kind}{size} has {} cells", rows[0].1.len());
        }
    }
    let all = client
        .read_rows(ReadRowsRequest {
            table_name: table_name.clone(),
            ..Default::default()
        })
        .await?;
    assert_eq!(all.len(), 2 * SIZES.len());
    Ok(())
}
