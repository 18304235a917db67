# Runs a command in a copy of this checkout inside WSL2: wsl2.ps1 COMMAND WORD…
# A copy, because files below /mnt have neither the modes nor the locks of Linux.
$ErrorActionPreference = 'Stop'
$distribution = 'Debian'

# Without any distribution the list fails, so it is not an error yet.
$installed = (wsl --list --quiet) -replace "`0", ''
$PSNativeCommandUseErrorActionPreference = $true
if (-not ($installed | Select-String -Quiet $distribution)) {
  wsl --set-default-version 2
  wsl --install --distribution $distribution --no-launch --web-download
}
$prepare = @'
set -eu
export DEBIAN_FRONTEND=noninteractive
apt-get -qq update
apt-get -qq install -y --no-install-recommends ca-certificates curl git nodejs npm python3 > /dev/null
rm -rf /root/checkout
cp -a . /root/checkout
'@
wsl --distribution $distribution --user root --exec sh -c $prepare.Replace("`r", '')
wsl --distribution $distribution --user root --cd /root/checkout --exec @args
exit $LASTEXITCODE
