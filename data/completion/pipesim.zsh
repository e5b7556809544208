#compdef pipesim
# Completion of pipesim for zsh: what 'pipesim completion zsh' prints.

# What can follow --set: of the first word that is a file.
_pipesim_parameters() {
  local word file name
  local -a found
  for word in "${words[@]}"; do
    word=${${(Q)word}/#\~\//$HOME/}
    if [[ $word != -* && -f $word ]]; then
      file=$word
      break
    fi
  done
  [[ -n $file ]] || return 1
  # ./pipesim of a clone would build what is not built.
  found=(${(f)"$(PIPESIM_BUILD=no ${_pipesim_program/#\~\//$HOME/} completion parameters $file 2>/dev/null </dev/null)"})
  if [[ $PREFIX == *=* ]]; then
    name=${PREFIX%%=*}
    compset -P 1 '*='
    compadd -- ${${(M)found:#$name=?*}#$name=}
  else
    compadd -S '' -- ${(u)found/%=*/=}
  fi
}

_pipesim() {
  local curcontext=$curcontext state line ret=1
  local _pipesim_program=$words[1]
  local -a commands
  commands=(
    # @commands@
  )
  _arguments -C \
    '(- *)'{-h,--help}'[print help]' \
    '(- *)--version[print which version this is]' \
    '1: :->command' \
    '*:: :->argument' && ret=0
  case $state in
    command)
      _describe -t commands command commands && ret=0 ;;
    argument)
      case $line[1] in
        # @cases@
      esac && ret=0 ;;
  esac
  return ret
}

if [[ $funcstack[1] == _pipesim ]]; then
  _pipesim "$@"
else
  compdef _pipesim pipesim
fi
