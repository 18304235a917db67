/** Folders of build output and dependencies, ignored where no git says what belongs to a project. */

/** Patterns for directories; an ignore file may take one back with `!dist/`. */
// biome-ignore format: one line a family
export const USUAL_FOLDERS: readonly string[] = [
  ".bzr", ".hg", ".jj", ".svn", "CVS",
  "bower_components", "jspm_packages", "node_modules", ".pnpm-store", ".yarn",
  ".eggs", "*.egg-info", ".ipynb_checkpoints", ".mypy_cache", ".nox", ".pytest_cache", ".ruff_cache", ".tox", ".venv",
  "__pycache__", "__pypackages__", "site-packages", "venv",
  ".angular", ".astro", ".cache", ".docusaurus", ".next", ".nuxt", ".output", ".parcel-cache", ".svelte-kit", ".turbo",
  ".vercel", ".nyc_output", "coverage", "htmlcov",
  ".dart_tool", ".gradle", ".mvn", "DerivedData", "Pods", "build", "dist", "out", "target",
  ".bundle", "_build", "bazel-*", "cmake-build-*", "elm-stuff", ".stack-work", "dist-newstyle", "vendor", "zig-cache",
  ".zig-cache", "zig-out", ".serverless", ".terraform", ".vagrant",
];
