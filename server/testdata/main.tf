# What Terraform makes on the server that $BIGTABLE_EMULATOR_HOST names.

terraform {
  required_providers {
    google = {
      source = "hashicorp/google"
    }
  }
}

variable "versions" {
  type    = number
  default = 10
}

provider "google" {
  project      = "local"
  region       = "us-central1"
  zone         = "us-central1-b"
  access_token = "none"
}

resource "google_bigtable_instance" "instance" {
  name                = "terraform"
  deletion_protection = false
  labels = {
    versions = var.versions
  }
  cluster {
    cluster_id   = "one"
    zone         = "us-central1-b"
    num_nodes    = 1
    storage_type = "SSD"
  }
  cluster {
    cluster_id   = "two"
    zone         = "us-central1-c"
    storage_type = "SSD"
    autoscaling_config {
      min_nodes  = 1
      max_nodes  = 3
      cpu_target = 50
    }
  }
}

resource "google_bigtable_table" "table" {
  name                    = "table"
  instance_name           = google_bigtable_instance.instance.name
  split_keys              = ["a", "b"]
  change_stream_retention = "24h0m0s"
  deletion_protection     = "UNPROTECTED"
  column_family {
    family = "f"
  }
  column_family {
    family = "sum"
    type   = "intsum"
  }
}

resource "google_bigtable_gc_policy" "policy" {
  instance_name = google_bigtable_instance.instance.name
  table         = google_bigtable_table.table.name
  column_family = "f"
  gc_rules = jsonencode({
    mode  = "union"
    rules = [{ max_age = "168h" }, { max_version = var.versions }]
  })
}
