# Fish completion for mpistair. What fits is asked of mpistair itself: mpistair --complete WORD ...

function __mpistair_complete
    set -l before (commandline -opc)
    set -l current (commandline -ct)
    for line in ($before[1] --complete $before[2..-1] "$current" 2>/dev/null)
        switch $line
            case ':files'
                __fish_complete_path "$current"
            case ':files *'
                __fish_complete_suffix "$current" (string replace ':files ' '' -- $line)
            case ':commands'
                __fish_complete_command
            case '*'
                echo $line
        end
    end
end
complete -c mpistair -f -a '(__mpistair_complete)'
