"""`chalk.schemas`: alias of `pytest_chalk.schemas`. Import from the modules."""
