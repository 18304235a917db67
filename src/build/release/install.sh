#!/bin/sh
# Installs svc @VERSION@, a memory for AI agents:
#
#   curl -fsSL @RELEASES_URL@/latest/download/install.sh | sh
#
# --help lists the options and variables.

# The shell reads all of a group before it runs any of it, so a download that was cut short does nothing.
{
set -u
unset CDPATH
LC_ALL=C
export LC_ALL

newline='
'
release_version='@VERSION@'
releases_url='@RELEASES_URL@'
# What the executable needs at least: glibc 2.17, or macOS 13.
glibc_minor_min=17
macos_min=13
# Limits of `ulimit -f`, in blocks of 512 bytes (bash may count 1024): 1 MB for lists, 512 MB for executables.
list_blocks_max=2000
file_blocks_max=1000000
# Downloads that bring nothing new before the installer gives up.
tries_max=3
begin_mark='# >>> svc >>>'
end_mark='# <<< svc <<<'

failed='svc was not installed'
child=
is_locked=
scratch=

main() {
  version=$release_version
  action=install
  modify_path=
  read_options "$@"
  choose_directory
  trap clean_up EXIT
  trap 'exit 129' HUP
  trap 'exit 130' INT
  trap 'exit 143' TERM
  if [ "$action" = uninstall ]; then
    uninstall
    return
  fi
  choose_address
  find_platform
  find_tools
  check_target
  lock
  refuse_noexec
  get_executable
  try_executable
  put_in_place
  report
  if [ -n "$modify_path" ] && [ -z "${SVC_NO_MODIFY_PATH:-}" ]; then add_to_path; fi
}

fail() {
  printf '%s: %s\n' "$failed" "$1" >&2
  exit "${2:-1}"
}

# Called by the trap.
# shellcheck disable=SC2317
clean_up() {
  if [ -n "$child" ]; then
    kill "$child" 2>/dev/null
    wait "$child" 2>/dev/null
  fi
  if [ -n "$is_locked" ]; then rm -rf "$work"; fi
  if [ -n "$scratch" ]; then rm -f "$scratch"; fi
}

# --- options and variables ---

help() {
  printf '%s\n' "Installs svc $release_version, or another version, for your user. It needs no root.

  sh install.sh [options]
  curl -fsSL $releases_url/latest/download/install.sh | sh -s -- [options]

  --version X.Y.Z   install this version
  --modify-path     add the directory to PATH in your shell's profile, in a marked block
  --uninstall       remove svc and the marked block; your memories stay
  --help            print this text

Variables:
  SVC_INSTALL_DIR      the directory for svc (default: ~/.local/bin)
  SVC_NO_MODIFY_PATH   if set, no profile is changed, even with --modify-path
  SVC_BASE_URL         the address of a mirror, which has download/v<version>/<file>
  https_proxy, no_proxy and the like act as curl and wget define them"
}

read_options() {
  while [ $# -gt 0 ]; do
    case $1 in
      --version)
        if [ $# -lt 2 ]; then fail "--version needs a version, as in --version $release_version" 2; fi
        version=${2#v}
        shift
        ;;
      --version=*)
        version=${1#--version=}
        version=${version#v}
        ;;
      --modify-path) modify_path=1 ;;
      --uninstall) action=uninstall ;;
      -h | --help)
        help
        exit 0
        ;;
      *) fail "'$1' is not an option; --help lists them" 2 ;;
    esac
    shift
  done
  case $version in *[!0-9A-Za-z.+-]*) refuse_version ;; esac
  case ${version%%[-+]*} in
    *[!0-9.]* | .* | *. | *..* | *.*.*.*) refuse_version ;;
    *.*.*) ;;
    *) refuse_version ;;
  esac
}

refuse_version() {
  fail "'$version' is not a version such as $release_version" 2
}

choose_directory() {
  dir=${SVC_INSTALL_DIR:-}
  if [ -z "$dir" ]; then
    if [ -z "${HOME:-}" ]; then fail "HOME is not set: name a directory in SVC_INSTALL_DIR" 2; fi
    dir=$HOME/.local/bin
  fi
  # A quoted ~ reaches this script as it is.
  # shellcheck disable=SC2088
  case $dir in '~/'*) dir=${HOME:-}/${dir#??} ;; esac
  case $dir in /*) ;; *) dir=$PWD/${dir#./} ;; esac
  while [ "${dir%/}" != "$dir" ]; do dir=${dir%/}; done
  target=$dir/svc
  work=$dir/.svc-install
  other="choose another directory with SVC_INSTALL_DIR"
  memories=${SVC_HOME:-${HOME:-}/.svc}
}

choose_address() {
  base=${SVC_BASE_URL:-$releases_url}
  base=${base%/}
  case $base in
    https://?*) protocols='=https' ;;
    http://*)
      host=${base#http://}
      host=${host%%/*}
      case $host in
        *@*) refuse_address ;;
        localhost | localhost:* | 127.0.0.1 | 127.0.0.1:* | '[::1]' | '[::1]':*) protocols='=http,https' ;;
        *) refuse_address ;;
      esac
      ;;
    *) refuse_address ;;
  esac
}

refuse_address() {
  fail "SVC_BASE_URL must be an https address, or http on localhost; it is '$base'" 2
}

# --- this machine ---

find_platform() {
  system=$(uname -s)
  machine=$(uname -m)
  # A terminal under Rosetta is x86_64 on Apple silicon.
  if [ "$system-$machine" = Darwin-x86_64 ] && [ "$(sysctl -n sysctl.proc_translated 2>/dev/null)" = 1 ]; then
    machine=arm64
  fi
  case $system-$machine in
    Linux-x86_64 | Linux-amd64) platform=linux-x86_64 ;;
    Linux-aarch64 | Linux-arm64) platform=linux-arm64 ;;
    Darwin-arm64) platform=macos-arm64 ;;
    MINGW* | MSYS* | CYGWIN*) fail "svc does not run on Windows itself: run the installer in WSL2" ;;
    *) fail "there is no svc for $system on $machine, only for Linux on x86-64 and arm64, and macOS on Apple silicon" ;;
  esac
  if [ "$system" = Darwin ]; then
    require_macos
  else
    require_glibc
    if ! [ -e /proc/self/exe ]; then fail "/proc is not mounted here, and svc needs it: mount it, or run this outside the chroot"; fi
  fi
  if [ "$platform" = linux-x86_64 ]; then require_avx2 /proc/cpuinfo; fi
}

require_glibc() {
  libc=$(ldd --version 2>&1) || libc="$libc $(getconf GNU_LIBC_VERSION 2>/dev/null)"
  needs="svc needs glibc 2.$glibc_minor_min or newer"
  case $libc in
    *musl*) fail "this system has musl, and $needs: use a system or a container with glibc, such as Debian's" ;;
  esac
  # "ldd (GNU libc) 2.36" and "glibc 2.36". If neither program is there, the test of the new file has to do.
  libc=${libc%%"$newline"*}
  libc=${libc##* }
  case $libc in
    *[!0-9.]* | *..* | .* | *.) return ;;
    *.*) ;;
    *) return ;;
  esac
  minor=${libc#*.}
  if [ "${libc%%.*}" -lt 2 ] || { [ "${libc%%.*}" -eq 2 ] && [ "${minor%%.*}" -lt "$glibc_minor_min" ]; }; then
    fail "this system has glibc $libc, and $needs: use a newer system"
  fi
}

require_macos() {
  product=$(sw_vers -productVersion 2>/dev/null)
  # If this program does not answer, the test of the new file has to do.
  case ${product%%.*} in '' | *[!0-9]*) return ;; esac
  if [ "${product%%.*}" -lt "$macos_min" ]; then
    fail "this system has macOS $product, and svc needs macOS $macos_min or newer: upgrade macOS"
  fi
}

# $1: /proc/cpuinfo
require_avx2() {
  has_flags=
  while read -r name features; do
    case "$name $features " in
      flags*' avx2 '*) return ;;
      flags*) has_flags=1 ;;
    esac
  done 2>/dev/null <"$1"
  if [ -n "$has_flags" ]; then
    fail "this CPU has no AVX2, which svc needs on x86-64; if this is a virtual machine, let it have the host's CPU features"
  fi
}

find_tools() {
  if command -v curl >/dev/null; then
    downloader=curl
  elif command -v wget >/dev/null; then
    case $(wget --version 2>/dev/null) in
      *'GNU Wget'*) downloader=wget ;;
      # BusyBox' wget does not check certificates.
      *) fail "this wget is not GNU Wget, and may not check certificates: install curl" ;;
    esac
  else
    fail "neither curl nor wget is there: install one of them"
  fi
  for hasher in sha256sum shasum openssl; do
    if command -v "$hasher" >/dev/null; then return; fi
  done
  fail "nothing can compute SHA-256: install sha256sum, shasum or openssl"
}

# --- the directory ---

check_target() {
  reason=$(mkdir -p "$dir" 2>&1) || fail "the directory $dir cannot be made ($reason): $other"
  if ! [ -w "$dir" ] || ! [ -x "$dir" ]; then fail "you may not write to $dir: $other"; fi
  is_update=
  if [ -L "$target" ]; then
    fail "$target is a symbolic link, which another program or you made: remove it, or $other"
  elif [ -e "$target" ]; then
    if ! [ -f "$target" ]; then fail "$target is in the way and is not a file: move it, or $other"; fi
    if ! is_svc; then fail "$target is in the way and does not run as svc does: move it, or $other"; fi
    is_update=1
  fi
}

is_svc() {
  case $(version_of "$target" 2>/dev/null) in
    'svc '[0-9]*) ;;
    *) return 1 ;;
  esac
}

# Not the last command: the shell's message about one that was killed then goes where its output goes.
version_of() {
  "$1" version </dev/null
  return
}

# The folder for temporary files is the lock as well, and has the id of the process that holds it. An uninstall goes on
# where the disk is too full for it.
lock() {
  reason=$(mkdir -m 700 "$work" 2>&1) || take_over || return
  is_locked=1
  printf '%s\n' $$ 2>/dev/null >"$work/pid" || [ "$action" = uninstall ] || fail_full
}

# Takes the lock of a process that was killed. "next" lets one of several processes do so; it may have done so after
# this one read the old id.
take_over() {
  if ! [ -d "$work" ]; then
    if [ "$action" = uninstall ]; then return 1; fi
    fail "$work could not be made ($reason): is the disk full?"
  fi
  busy="another install is at work: wait for its end; if there is none, remove $work"
  if is_held; then fail "$busy"; fi
  if ! mkdir "$work/next" 2>/dev/null; then fail "$busy"; fi
  if [ "$(holder_of "$work")" != "$holder" ]; then
    rmdir "$work/next"
    fail "$busy"
  fi
  if ! mv "$work" "$work.$$"; then fail "$busy"; fi
  rm -rf "$work.$$"
  if ! mkdir -m 700 "$work" 2>/dev/null; then fail "$busy"; fi
}

# Whether the process that made the lock runs. It writes its id right after it made the folder.
is_held() {
  holder=$(holder_of "$work")
  if [ -z "$holder" ]; then
    sleep 1
    holder=$(holder_of "$work")
  fi
  case $holder in
    '' | *[!0-9]*) return 1 ;;
  esac
  # The process of another user gets no signal, and is in /proc.
  kill -0 "$holder" 2>/dev/null || [ -d "/proc/$holder" ]
}

holder_of() {
  read -r id 2>/dev/null <"$1/pid" && printf '%s' "$id"
}

refuse_noexec() {
  printf '#!/bin/sh\n' 2>/dev/null >"$work/probe" || fail_full
  chmod 700 "$work/probe"
  if ! "$work/probe" 2>/dev/null; then
    fail "programs in $dir may not be run (is it mounted with noexec?): $other"
  fi
}

fail_full() {
  fail "the disk of $dir is full: free some space (svc needs 200 MB while it is installed), or $other"
}

# Ends the installer if the disk is full.
require_room() {
  printf '%16384s' '' 2>/dev/null >"$work/room" || fail_full
  rm -f "$work/room"
}

# --- the download ---

get_executable() {
  printf '%s\n' "Downloading svc $version for $platform (some 60 MB)"
  download SHA256SUMS "$list_blocks_max"
  file=svc-$platform
  if [ -z "$(listed_hash "$file")" ]; then fail "svc $version at $base has no executable for $platform"; fi
  if command -v gzip >/dev/null; then
    download "$file.gz" "$file_blocks_max"
    # The hash is computed meanwhile: each takes a second or more on an old CPU. What is decompressed of a wrong download is
    # removed; limit_size bounds it.
    (limit_size "$file_blocks_max" && exec gzip -dc) <"$work/$file.gz" >"$work/$file" 2>"$work/error" &
    child=$!
    check_hash "$file.gz"
    wait "$child"
    code=$?
    child=
    if [ "$code" -ne 0 ]; then
      require_room
      fail "$file.gz could not be decompressed ($(last_error)): run the installer again"
    fi
    rm -f "$work/$file.gz"
  else
    download "$file" "$file_blocks_max"
    check_hash "$file"
  fi
}

# Downloads the file $1 of the release, of at most $2 blocks, and continues where a connection ended.
download() {
  url=$base/download/v$version/$1
  part=$work/$1
  # The list is small. With a bar, curl's messages are on the terminal too.
  has_bar=
  if [ "$downloader" = curl ] && [ "$1" != SHA256SUMS ] && [ -t 2 ]; then has_bar=1; fi
  size=0
  tries=0
  while :; do
    if [ -n "$has_bar" ]; then
      rm -f "$work/error"
      fetch "$url" "$part" "$2" &
    else
      fetch "$url" "$part" "$2" 2>"$work/error" &
    fi
    child=$!
    wait "$child"
    code=$?
    child=
    if [ "$code" -eq 0 ]; then return; fi
    require_room
    before=$size
    size=0
    if [ -f "$part" ]; then size=$(($(wc -c <"$part"))); fi
    if [ "$size" -ge $(($2 * 512)) ]; then fail "$url is larger than such a file may be"; fi
    case $downloader-$code in
      curl-22 | wget-8) fail "$url cannot be had ($(last_error)): is there a version $version?" ;;
      curl-23)
        fail "curl could not write to $work ($(last_error)): a curl from snap may not write to hidden folders, so install another curl, or choose a directory that is in no hidden folder, as in SVC_INSTALL_DIR=~/bin"
        ;;
    esac
    if [ "$size" -gt "$before" ]; then
      tries=0
    else
      tries=$((tries + 1))
      rm -f "$part"
      size=0
    fi
    if [ "$tries" -ge "$tries_max" ]; then
      fail "$url could not be downloaded ($(last_error)): check the connection, and the proxy if you need one"
    fi
    sleep 1
  done
}

# Runs in a process of its own, so that a signal can end it.
fetch() {
  limit_size "$3"
  if [ "$downloader" = wget ]; then exec wget -nv -c -t 1 -T 30 -O "$2" "$1"; fi
  if [ -n "$has_bar" ]; then set -- "$@" --progress-bar; else set -- "$@" -s; fi
  exec curl -fSL "$4" --proto "$protocols" --proto-redir '=https' --connect-timeout 20 --speed-limit 1 --speed-time 30 \
    --retry 2 -C - -o "$2" "$1"
}

# A write over the limit then fails, instead of ending the process with a dump of its memory.
limit_size() {
  ulimit -f "$1" 2>/dev/null
  trap '' XFSZ
}

last_error() {
  reason='it says nothing more'
  if [ -n "$has_bar" ]; then reason='its message is above'; fi
  while read -r line; do
    if [ -n "$line" ]; then reason=$line; fi
  done 2>/dev/null <"$work/error"
  printf '%s' "$reason"
}

# The hash of the file $1 by SHA256SUMS; nothing if it has no valid one.
listed_hash() {
  while read -r hash name; do
    if [ "$name" = "$1" ] && [ ${#hash} -eq 64 ]; then
      case $hash in *[!0-9a-f]*) ;; *) printf '%s' "$hash" ;; esac
      return
    fi
  done <"$work/SHA256SUMS"
}

check_hash() {
  listed=$(listed_hash "$1")
  if [ -z "$listed" ]; then fail "SHA256SUMS of svc $version at $base does not have $1"; fi
  case $hasher in
    sha256sum) hash=$(sha256sum <"$work/$1") ;;
    shasum) hash=$(shasum -a 256 <"$work/$1") ;;
    openssl) hash=$(openssl dgst -sha256 <"$work/$1") ;;
  esac
  # "HASH  -", and "SHA2-256(stdin)= HASH" by openssl.
  hash=${hash#*= }
  hash=${hash%% *}
  if [ "$hash" != "$listed" ]; then
    fail "the downloaded $1 is not the released one (SHA-256 is $hash, and must be $listed): run the installer again; if that does not help, do not trust $base"
  fi
}

try_executable() {
  chmod 755 "$work/$file"
  output=$(version_of "$work/$file" 2>&1)
  code=$?
  output=${output%%"$newline"*}
  case $code-$output in
    "0-svc $version" | "0-svc $version "*) ;;
    0-*) fail "the downloaded executable is not svc $version: it says '$output'" ;;
    *) fail "the downloaded executable does not run on this system ('svc version' ended with $code${output:+: $output})" ;;
  esac
}

put_in_place() {
  # Some systems have no sync of one file. Without it a power cut can leave an empty executable.
  sync "$work/$file" 2>/dev/null
  reason=$(mv -f "$work/$file" "$target" 2>&1) || fail "$target could not be replaced ($reason): $other"
}

# --- PATH ---

choose_profile() {
  case ${SHELL:-} in
    */zsh) profile=${ZDOTDIR:-$HOME}/.zshrc ;;
    */fish) profile=${XDG_CONFIG_HOME:-$HOME/.config}/fish/config.fish ;;
    */bash)
      profile=$HOME/.bashrc
      if [ "$system" = Darwin ]; then
        # A login shell reads the first of these that is there.
        for profile in "$HOME/.bash_profile" "$HOME/.bash_login" "$HOME/.profile"; do
          if [ -f "$profile" ]; then break; fi
        done
      fi
      ;;
    *) profile=$HOME/.profile ;;
  esac
}

# Sets $line to what puts $dir in PATH, in the language of $profile.
choose_line() {
  case $profile in
    *.fish) line="contains -- \"$dir\" \$PATH; or set -gx PATH \"$dir\" \$PATH" ;;
    *) line="case \":\$PATH:\" in *\":$dir:\"*) ;; *) export PATH=\"$dir:\$PATH\" ;; esac" ;;
  esac
}

add_to_path() {
  failed="svc $version is installed, but PATH was not changed"
  if [ -z "${HOME:-}" ]; then fail "HOME is not set"; fi
  case $dir in
    *[\"\$\`\\:]* | *"$newline"*) fail "$dir has a character that PATH or a profile cannot hold: $other" ;;
  esac
  choose_profile
  choose_line
  if ! has_line "$line"; then
    reason=$(mkdir -p "${profile%/*}" 2>&1) || fail "$reason"
    write_profile "$begin_mark$newline$line$newline$end_mark$newline"
  fi
  printf '%s\n' "$profile puts $dir in PATH for new shells."
}

# Writes $profile without svc's block, and with $1 at its end. The file is complete at every moment.
write_profile() {
  if [ -n "$1" ]; then lines="add these lines:$newline$1"; else lines="remove the lines from '$begin_mark' to '$end_mark'"; fi
  if [ -L "$profile" ]; then fail "$profile is a symbolic link, which the installer does not change: $lines"; fi
  if [ -e "$profile" ] && ! [ -w "$profile" ]; then
    fail "$profile is read-only: make it writable and run this again, or $lines"
  fi
  scratch=$profile.svc-$$
  if ! fill_profile "$1" 2>/dev/null; then fail "$profile could not be written: is the disk full, or its directory read-only?"; fi
  # A profile of which nothing is left was made by the installer.
  if [ -s "$scratch" ]; then
    reason=$(mv -f "$scratch" "$profile" 2>&1) || fail "$reason"
  else
    reason=$(rm -f "$scratch" "$profile" 2>&1) || fail "$reason"
  fi
  scratch=
}

fill_profile() {
  if [ -f "$profile" ]; then
    # The copy has the permissions.
    cp -p "$profile" "$scratch" && without_block "$profile" >"$scratch" || return 1
  fi
  printf '%s' "$1" >>"$scratch"
}

has_line() {
  if ! [ -f "$profile" ]; then return 1; fi
  while IFS= read -r text; do
    if [ "$text" = "$1" ]; then return; fi
  done <"$profile"
  return 1
}

# Prints the file $1 without svc's block; a block without an end stays.
without_block() {
  block_lines=
  while IFS= read -r text || [ -n "$text" ]; do
    case $block_lines$text in
      "$begin_mark") block_lines=$begin_mark$newline ;;
      "$begin_mark$newline"*"$end_mark") block_lines= ;;
      "$begin_mark$newline"*) block_lines=$block_lines$text$newline ;;
      *) printf '%s\n' "$text" || return 1 ;;
    esac
  done <"$1"
  printf '%s' "$block_lines"
}

# --- what is said at the end ---

report() {
  command=svc
  printf '%s\n' "svc $version is installed: $target"
  if [ -n "$is_update" ]; then
    printf '%s\n' "Processes that run keep the old one until they end: restart your MCP clients."
  fi
  case ":$PATH:" in
    *":$dir:"*) ;;
    *)
      command=$target
      if [ -z "$modify_path" ] || [ -n "${SVC_NO_MODIFY_PATH:-}" ]; then
        printf '%s\n' "$dir is not in PATH. Add it to your shell's profile, or run the installer with --modify-path:
  export PATH=\"$dir:\$PATH\""
      fi
      ;;
  esac
  report_others
  if ! [ -f "$memories/login_license.jwt" ]; then
    next="login --yes    # sign in; this contacts no server"
  elif "$target" runtime verify </dev/null >/dev/null 2>&1; then
    next=
    if [ -n "$is_update" ]; then return; fi
  else
    next="runtime install    # the native runtime of this version, which svc needs"
  fi
  printf '%s\n' "Next:${next:+$newline  $command $next}"
  if [ -z "$is_update" ] || [ "${next%% *}" = login ]; then
    printf '%s\n' "  $command mcp install    # connect your MCP clients"
  fi
}

# Says which other svc there are in PATH.
report_others() {
  own=$(cd -P "$dir" && pwd)
  order=before
  set -f
  IFS=:
  for entry in $PATH; do
    found=${entry:-.}/svc
    if ! [ -f "$found" ] || ! [ -x "$found" ]; then continue; fi
    if [ "$(cd -P "${entry:-.}" && pwd)" = "$own" ]; then
      order=after
      continue
    fi
    case "$found $(readlink "$found" 2>/dev/null)" in
      *[Cc]ellar/* | */homebrew/* | */linuxbrew/*) origin=", from Homebrew" ;;
      *node_modules/* | */npm/*) origin=", from npm" ;;
      *) origin= ;;
    esac
    if [ "$order" = before ]; then
      command=$target
      printf '%s\n' "Another svc comes first in PATH$origin: $found. Remove it, or put $dir before it."
    elif [ -n "$origin" ]; then
      printf '%s\n' "Another svc is in PATH$origin: $found. You need only one of them."
    fi
  done
  unset IFS
  set +f
}

uninstall() {
  failed='svc was not removed'
  if ! [ -e "$target" ] && ! [ -L "$target" ]; then
    fail "there is no $target; if svc is in another directory, name that in SVC_INSTALL_DIR"
  fi
  lock
  refuse_upgrade
  if [ -L "$target" ] || ! [ -f "$target" ] || ! is_svc; then
    fail "$target does not run as svc does, or is a link: remove it yourself if you do not need it"
  fi
  reason=$(rm -f "$target" 2>&1) || fail "$reason"
  failed="$target is removed, but not all"
  printf '%s\n' "$target is removed. MCP clients that were connected still have an entry for it in their settings."
  # What `svc upgrade` keeps beside it.
  rm -rf "$dir/.svc-upgrade"
  if [ -n "${HOME:-}" ]; then
    for profile in "${ZDOTDIR:-$HOME}/.zshrc" "${XDG_CONFIG_HOME:-$HOME/.config}/fish/config.fish" \
      "$HOME/.bashrc" "$HOME/.bash_profile" "$HOME/.bash_login" "$HOME/.profile"; do
      choose_line
      if has_line "$begin_mark" && has_line "$line"; then write_profile ''; fi
    done
  fi
  if [ -d "$memories" ]; then
    printf '%s\n' "Your memories stay in $memories. To delete them as well: rm -r \"$memories\""
  fi
}

# Refuses while an upgrade holds its lock. Without a program that can tell, as on macOS, the upgrade itself stops: it
# finds that its svc is not there any more, and replaces nothing.
refuse_upgrade() {
  if ! [ -f "$dir/.svc-upgrade/lock" ] || ! command -v flock >/dev/null; then return; fi
  flock -n "$dir/.svc-upgrade/lock" true 2>/dev/null
  if [ $? -eq 1 ]; then
    fail "'svc upgrade' is at work: wait for its end, and run this again"
  fi
}

main "$@"
exit
}
