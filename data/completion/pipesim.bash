# Completion of pipesim for bash: what 'pipesim completion bash' prints.

# Sets `value` to what follows option $2 of command $1; without $2, `options` and `first`.
_pipesim_tables() {
  value='' options='' first=''
  case $1.$2 in
    # @cases@
  esac
}

# What can follow --set for program $1 and its command $2: of the first of the other words that is a
# file.
_pipesim_parameters() {
  local program=$1 command=$2 word value options first
  shift 2
  while (($# > 0)); do
    word=$1
    shift
    if [[ $word == -* ]]; then
      _pipesim_tables "$command" "$word"
      if [[ -n $value ]] && (($# > 0)); then shift; fi
      continue
    fi
    word=${word//[\\\"\']/}
    word=${word/#\~\//$HOME/}
    if [[ -f $word ]]; then
      # ./pipesim of a clone would build what is not built.
      PIPESIM_BUILD=no "$program" completion parameters "$word" 2>/dev/null </dev/null
      return
    fi
  done
}

# readline breaks words at '=' (see COMP_WORDBREAKS) and replaces only the text after the last break.
# So this function first joins words, and then cuts the part before the break from each reply.
_pipesim() {
  local words=() word join=no
  for word in "${COMP_WORDS[@]:0:COMP_CWORD+1}"; do
    if ((${#words[@]} > 0)) && [[ $join == yes || $word == = ]]; then
      words[${#words[@]} - 1]+=$word
    else
      words+=("$word")
    fi
    join=no
    if [[ $word == = ]]; then join=yes; fi
  done

  local last=$((${#words[@]} - 1)) value='' options='' first='' prefix='' candidates='' line
  local current=${words[last]} command=${words[1]-}
  COMPREPLY=()
  if ((last == 1)); then
    value="words @commands@ --help --version"
  elif [[ $current == --*=* ]]; then
    prefix=${current%%=*}=
    _pipesim_tables "$command" "${current%%=*}"
    current=${current#*=}
  else
    _pipesim_tables "$command" "${words[last - 1]}"
  fi
  if [[ -z $value ]]; then
    _pipesim_tables "$command" ''
    if [[ -z $options ]]; then return; fi
    if [[ $current == -* ]]; then
      value="words $options"
    elif ((last == 2)) && [[ -n $first ]]; then
      value="words $first"
    else
      value=files
    fi
  fi

  case $value in
    words\ *)
      while IFS= read -r line; do COMPREPLY+=("$line"); done \
        < <(compgen -W "${value#words }" -- "$current") ;;
    parameters)
      while IFS= read -r line; do
        # Without a name, the names; with one, its values.
        if [[ $current != *=* ]]; then line=${line%%=*}=; fi
        if [[ $line == "$current"* && $candidates != *"|$line|"* ]]; then
          COMPREPLY+=("$line")
          candidates+="|$line|"
        fi
      done < <(_pipesim_parameters "${words[0]/#\~\//$HOME/}" "$command" \
        "${words[@]:2:last-2}")
      if [[ $current != *=* ]]; then compopt -o nospace 2>/dev/null; fi ;;
    files | folders)
      local action=-f
      if [[ $value == folders ]]; then action=-d; fi
      compopt -o filenames 2>/dev/null
      while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen $action -- "$current") ;;
  esac

  if [[ $COMP_WORDBREAKS == *=* ]]; then
    if [[ $current == *=* ]]; then COMPREPLY=("${COMPREPLY[@]#"${current%"${current##*=}"}"}"); fi
  elif [[ -n $prefix ]]; then
    COMPREPLY=("${COMPREPLY[@]/#/$prefix}")
  fi
}

complete -F _pipesim pipesim
