"""Where tasks are found: import names, one module per task file, task packages, task classes.

Knows no pytest; the plugin and the command line both call it. Import from the modules: this
package imports nothing, because every pytest run asks `packages.has_task_packages`.
"""
