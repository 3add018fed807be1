"""Files of discrete networks: states and full tables, with what restores the bins in comments or properties."""
